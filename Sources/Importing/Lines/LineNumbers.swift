/// The words of a line that can't be read, of which one may be an id.
enum LineWords {
    /// More are no row of a table.
    private static let most = 64
    /// As long as an id of Apple's may be, in bytes.
    private static let longest = 64

    /// Each once, in their order: what stands between quotes, commas, blanks and the like.
    static func of(_ bytes: some Sequence<UInt8>) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        func end() {
            defer { word.removeAll(keepingCapacity: true) }
            guard !word.isEmpty, word.count <= longest, words.count < most else { return }
            let text = String(decoding: word, as: UTF8.self)
            if !words.contains(text) { words.append(text) }
        }
        for byte in bytes {
            if isOfWord(byte) { word.append(byte) } else { end() }
        }
        end()
        return words
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
