import Reconciliation
import Testing

@Suite struct AdoptionTests {
    @Test func whatIsOrWasWhiteIsOwed() {
        #expect(Adoption.Result.Outcome.allCases.filter(\.isOwed) == [.white, .alreadyWhite])
    }
}
