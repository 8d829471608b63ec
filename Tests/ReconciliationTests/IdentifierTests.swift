import Foundation
import Reconciliation
import Testing

@Suite struct IdentifierTests {
    @Test(arguments: ["1", "2000000847061981", "999999999999999999", String(repeating: "9", count: 64), "!~"])
    func keepsAnIDAsText(text: String) {
        #expect(TransactionID(text)?.text == text)
    }

    @Test(arguments: ["", " 1", "1\n", "1\u{0}", "１２", "=1+1\u{7F}", String(repeating: "9", count: 65)])
    func refusesWhatNoIDIs(text: String) {
        #expect(TransactionID(text) == nil)
    }

    /// As the tables have them.
    @Test func appsAndProductsHaveNamesOfUpTo255Bytes() {
        let (longest, longer) = (String(repeating: "x", count: 255), String(repeating: "x", count: 256))
        #expect(BundleID(longest) != nil && BundleID(longer) == nil)
        #expect(ProductID(longest) != nil && ProductID(longer) == nil)
    }

    @Test(arguments: [
        ("2000000847061981", "2000000847061981"), ("A_z.9:x-y", "A_z.9:x-y"), ("$(id>/tmp/pwn)", "'$(id>/tmp/pwn)'"),
        ("a'b", "'a'\\''b'"), ("a;b", "'a;b'"),
    ])
    func isOneWordOfAShellsWhateverItHolds(text: String, word: String) {
        #expect(TransactionID(text)?.shellWord == word)
    }

    @Test func ordersIDsByBytesAsTheDatabaseDoes() throws {
        let ids = try ["b", "B", "10", "9"].map { try #require(TransactionID($0)) }
        #expect(ids.sorted().map(\.text) == ["10", "9", "B", "b"])
    }

    /// In which the ledger locks its rows: two sessions with two orders would wait for each other.
    @Test func ordersKeysByTheirIDThenTheAppThenTheEnvironment() throws {
        let keys = [
            try Sample.key("1", of: "a", environment: .production), try Sample.key("1", of: "a", environment: .sandbox),
            try Sample.key("1", of: "b", environment: .production),
            try Sample.key("2", of: "a", environment: .production),
        ]
        #expect(keys.reversed().sorted() == keys)
    }

    @Test func refusesAnInvalidIDInJSON() throws {
        let good = try JSONDecoder().decode([ProductID].self, from: Data(#"["gems.100"]"#.utf8))
        #expect(good.map(\.text) == ["gems.100"])
        #expect(try String(json: good) == #"["gems.100"]"#)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([ProductID].self, from: Data(#"["gems 100"]"#.utf8))
        }
    }

    @Test(arguments: [
        ("JPY", true), ("jpy", false), ("JP", false), ("JPYX", false), ("US1", false), ("¥PY", false), ("", false),
        ("AUD", true), ("NZD", true), ("AU@", false), ("NZ[", false),
    ])
    func takesThreeCapitalsAsACurrency(text: String, isCode: Bool) {
        #expect((CurrencyCode(text) != nil) == isCode)
    }

    @Test func givesEachProductTypeItsGrace() {
        let grace = Grace(3600, byType: [.autoRenewable: 86_400])
        #expect(grace.seconds(for: .autoRenewable) == 86_400)
        #expect(grace.seconds(for: .consumable) == 3600)
        #expect(grace.seconds(for: nil) == 3600)
    }
}
