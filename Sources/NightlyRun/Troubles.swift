import Reconciliation

/// What kept receipts of a run from being judged, by app: what an operator should hear once, not once for each receipt.
struct Troubles {
    private struct Kind: Hashable {
        let problem: ReceiptProblem
        let bundleID: String
    }

    private struct Trouble {
        var receipts = 0
        /// The first receipt's words, and whether others had other ones.
        let text: String
        var isOneOfMany = false
    }

    private var met: [Kind: Trouble] = [:]
    /// The apps of which some receipt was judged.
    private var judged: Set<String> = []

    mutating func judge(_ bundleID: String) { judged.insert(bundleID) }

    /// Names an app of which nothing could be verified, until a setting is mended or because Apple was reached for none
    /// of its receipts, in a sentence with the first receipt's words.
    var unverifiable: String? {
        met.filter { $0.key.problem.needsAnOperator ? !judged.contains($0.key.bundleID) : isOutOfReach($0.key) }
            .min { $0.key.bundleID < $1.key.bundleID }
            .map { "nothing of \($0.key.bundleID) could be verified: \($0.value.text)" }
    }

    /// Whether receipts of an app met this because Apple was not reached for any of them. One that Apple answered, if
    /// only to try it again, was at fault itself.
    private func isOutOfReach(_ kind: Kind) -> Bool {
        kind.problem == .appleUnreachable && !judged.contains(kind.bundleID)
            && !met.keys.contains { $0.bundleID == kind.bundleID && $0.problem != kind.problem }
    }

    /// Takes in receipts of an app that must be tried again.
    ///
    /// - Returns: whether they are the first with this problem.
    mutating func add(_ receipts: Int, of bundleID: String, _ problem: ReceiptProblem, _ text: String) -> Bool {
        let kind = Kind(problem: problem, bundleID: bundleID)
        var trouble = met[kind] ?? Trouble(text: text)
        trouble.receipts += receipts
        trouble.isOneOfMany = trouble.isOneOfMany || trouble.text != text
        met[kind] = trouble
        return trouble.receipts == receipts
    }

    /// The trouble that most receipts met, as a sentence with the first receipt's words.
    var greatest: String? {
        met.max { ($0.value.receipts, $1.key.bundleID) < ($1.value.receipts, $0.key.bundleID) }
            .map { kind, trouble in
                let example = trouble.isOneOfMany ? ", for example" : ""
                return "\(trouble.receipts) of them, of \(kind.bundleID)\(example): \(trouble.text)"
            }
    }
}

extension ReceiptProblem {
    /// Whether it lasts until somebody mends a setting.
    var needsAnOperator: Bool { self == .needsConfiguration || self == .unknownApp }
}
