/// The numbers of a line that can't be read, of which one may be the id of a transaction: Apple's are digits. Nothing else
/// of such a line is kept.
enum LineNumbers {
    /// More are no row of a table.
    private static let most = 64
    /// How many digits an id has; fewer are those of dates and amounts.
    private static let digits = 4...64

    /// Each once, in their order.
    static func of(_ bytes: some Sequence<UInt8>) -> [String] {
        var numbers: [String] = []
        var (word, isNumber) = ([UInt8](), true)
        func end() {
            defer { (word, isNumber) = ([], true) }
            guard isNumber, digits.contains(word.count), numbers.count < most else { return }
            let text = String(decoding: word, as: UTF8.self)
            if !numbers.contains(text) { numbers.append(text) }
        }
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if word.count <= digits.upperBound { word.append(byte) }
            // Of a word, or of a UUID.
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "."), 0x80...:
                isNumber = false
            default: end()
            }
        }
        end()
        return numbers
    }
}
