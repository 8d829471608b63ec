public import Foundation

extension Decimal: ColumnValue {
    /// Reads a `numeric` exactly. NaN, infinities and more than 38 significant digits are refused.
    public init(field: Field?) throws(FieldProblem) {
        let field = try field.required(.numeric)
        let count = Int(try field.integer(Int16.self))
        let weight = Int(try field.integer(Int16.self, at: 2))
        let sign = try field.integer(UInt16.self, at: 4)
        guard sign == Self.positive || sign == Self.negative else { throw .value }
        var digits = Decimal()
        // Base-10,000 digits, the first of which counts 10,000 to the power of `weight` (PostgreSQL's numeric_send).
        for index in 0..<count {
            let digit = try field.integer(Int16.self, at: 8 + 2 * index)
            digits = digits * 10_000 + Decimal(Int(digit))
        }
        guard digits.significand.description.count <= 38 else { throw .value }
        let exponent = 4 * (weight - count + 1)
        guard (-127...127).contains(exponent) else { throw .value }
        self = Decimal(sign: sign == Self.negative ? .minus : .plus, exponent: exponent, significand: digits)
    }

    private static var positive: UInt16 { 0x0000 }
    private static var negative: UInt16 { 0x4000 }
}
