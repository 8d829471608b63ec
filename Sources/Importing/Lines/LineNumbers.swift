/// The numbers of a line that can't be read. One of them may be the id of a transaction, as Apple's are digits. Nothing
/// else of such a line is kept.
enum LineNumbers {
    /// No row of a table has more.
    private static let most = 64
    /// How many digits an id has; dates and amounts have fewer.
    private static let digits = 4...64

    /// Each number once, in order.
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
            case _ where byte.isDigit:
                if word.count <= digits.upperBound { word.append(byte) }
            // Part of a word, or of a UUID.
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
