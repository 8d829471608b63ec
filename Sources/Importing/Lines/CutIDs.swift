import Ledger

/// Ids of transactions that a spreadsheet took for numbers: of each it keeps the first fifteen digits, and writes 0 for
/// the others. One such id may be genuine, and another customer's. Many are not.
enum CutIDs {
    private static let digitsKept = 15
    /// Of as many genuine ids all end in 0 in one file of ten thousand million.
    private static let fewest = 10

    /// How many ids the lines have that a spreadsheet would cut, if it has cut all of them; otherwise `nil`.
    static func count(in lines: [ImportLine]) -> Int? {
        let long = Set(lines.lazy.map(\.name).filter(isCuttable))
        return long.count >= fewest && long.allSatisfy(isCut) ? long.count : nil
    }

    private static func isCuttable(_ id: String) -> Bool {
        id.utf8.count > digitsKept && id.utf8.allSatisfy(\.isDigit)
    }

    private static func isCut(_ id: String) -> Bool {
        id.utf8.dropFirst(digitsKept).allSatisfy { $0 == UInt8(ascii: "0") }
    }
}
