/// Writes the payload of an app receipt attribute by attribute, in DER.
public struct ReceiptPayloadWriter: Sendable {
    private var attributes: [UInt8] = []

    public init() {}

    /// The payload: the set of all attributes.
    public var octets: [UInt8] { Self.element(0x31, attributes) }

    public mutating func add(_ type: Int, _ value: [UInt8]) {
        let parts = Self.integer(type) + Self.integer(1) + Self.element(0x04, value)
        attributes += Self.element(0x30, parts)
    }

    /// A string in UTF-8.
    public mutating func add(_ type: Int, _ text: String) {
        add(type, Self.element(0x0C, Array(text.utf8)))
    }

    /// A date in IA5.
    public mutating func add(_ type: Int, date: String) {
        add(type, Self.element(0x16, Array(date.utf8)))
    }

    public mutating func add(_ type: Int, _ number: Int) {
        add(type, Self.integer(number))
    }

    /// One in-app purchase.
    public mutating func add(_ type: Int, _ nested: ReceiptPayloadWriter) {
        add(type, nested.octets)
    }

    public static func integer(_ number: Int) -> [UInt8] {
        var octets = withUnsafeBytes(of: Int64(number).bigEndian) { Array($0) }
        while octets.count > 1, (octets[0] == 0 && octets[1] < 0x80) || (octets[0] == 0xFF && octets[1] >= 0x80) {
            octets.removeFirst()
        }
        return element(0x02, octets)
    }

    public static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        if content.count < 0x80 { return [tag, UInt8(content.count)] + content }
        let length = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0.drop { $0 == 0 }) }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}

extension ReceiptPayloadWriter {
    /// A sandbox receipt of `com.example.app` with one consumable, bought when the receipt was made.
    public static func sample(made date: String, transactionID: String = "2000000000000001") -> ReceiptPayloadWriter {
        var purchase = ReceiptPayloadWriter()
        purchase.add(1701, 2)
        purchase.add(1702, "coins100")
        purchase.add(1703, transactionID)
        purchase.add(1704, date: date)
        purchase.add(1705, transactionID)
        purchase.add(1706, date: date)
        purchase.add(1707, 1)
        purchase.add(1711, 0)
        purchase.add(1712, date: "")
        var receipt = ReceiptPayloadWriter()
        receipt.add(0, "ProductionSandbox")
        receipt.add(2, "com.example.app")
        receipt.add(3, "1.2.3")
        receipt.add(12, date: date)
        receipt.add(4, [1, 2, 3])
        receipt.add(17, purchase)
        return receipt
    }
}
