import Reconciliation
import Testing

/// What a night says that ends because the tables don't hold together.
@Suite struct IntegrityFindingTests {
    @Test(
        arguments: [
            (0, [], "each open case is of a white transaction"),
            (2, ["7", "8"], "it does not hold that each open case is of a white transaction: 7, 8"),
            (12, ["7", "8"], "it does not hold that each open case is of a white transaction: 7, 8 and 10 more"),
        ] as [(Int, [String], String)])
    func aFindingNamesItsExamplesAndCountsTheRest(count: Int, examples: [String], text: String) {
        #expect("\(IntegrityFinding(.openCases, count: count, examples: examples))" == text)
    }

    /// Whoever reads one knows what to look for.
    @Test func eachCheckSaysItsOwn() {
        #expect(Set(IntegrityCheck.allCases.map(\.text)).count == IntegrityCheck.allCases.count)
    }
}
