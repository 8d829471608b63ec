package import Reconciliation

extension ReceiptCounts {
    /// The counts by their names in JSON.
    package var named: [String: Int] {
        ["due": due, "verified": verified, "try_again": tryAgain, "unusable": unusable, "left": left]
    }
}

extension CaseCounts {
    /// How many cases are open by their likelihood, in JSON's words: each of them, also where there is none.
    package var namedByLikelihood: [String: Int] {
        Dictionary(uniqueKeysWithValues: Likelihood.allCases.map { ($0.rawValue, byLikelihood[$0] ?? 0) })
    }
}
