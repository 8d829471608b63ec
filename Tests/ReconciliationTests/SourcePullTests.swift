import Reconciliation
import Testing

@Suite struct SourcePullTests {
    @Test(arguments: [("7", "no date"), ("8", "8: no date"), (nil, "no date")])
    func aRefusedRowNamesWhatItsIDDoesNot(namedID: String?, what: String) {
        #expect(RefusedRow(id: "7", namedID: namedID, reason: .badValue, text: "no date").what == what)
    }
}
