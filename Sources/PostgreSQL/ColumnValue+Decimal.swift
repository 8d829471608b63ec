public import Foundation

extension Decimal: ColumnValue {
    /// Reads a `numeric` exactly. NaN, infinities and more than 38 significant digits are refused.
    public init(field: Field?) throws(FieldProblem) {
        let field = try field.required(.numeric)
        let sign = try field.integer(UInt16.self, at: 4)
        guard sign == Self.positive || sign == Self.negative else { throw .value }
        let (digits, exponent) = try Self.digits(of: field)
        guard digits.count <= 38, (-127...127).contains(exponent) else { throw .value }
        guard let number = Decimal(string: (sign == Self.negative ? "-" : "") + digits + "e\(exponent)") else {
            throw .value
        }
        self = number
    }

    /// The significant digits, and the power of ten of the last of them. The field holds base-10,000 digits, the first
    /// of which counts 10,000 to the power of a weight (PostgreSQL's numeric_send).
    private static func digits(of field: Field) throws(FieldProblem) -> (digits: String, exponent: Int) {
        let count = Int(try field.integer(Int16.self))
        let weight = Int(try field.integer(Int16.self, at: 2))
        var digits = ""
        for index in 0..<count {
            let four = String(Int(try field.integer(Int16.self, at: 8 + 2 * index)))
            digits += String(repeating: "0", count: 4 - four.count) + four
        }
        let significant = digits.drop { $0 == "0" }
        let trailing = significant.reversed().prefix { $0 == "0" }.count
        let exponent = 4 * (weight - count + 1) + trailing
        return significant.isEmpty ? ("0", 0) : (String(significant.dropLast(trailing)), exponent)
    }

    private static var positive: UInt16 { 0x0000 }
    private static var negative: UInt16 { 0x4000 }
}
