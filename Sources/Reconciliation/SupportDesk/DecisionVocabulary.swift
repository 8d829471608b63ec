/// The words by which a spreadsheet's columns and decisions are known, in any language.
public struct DecisionVocabulary: Sendable {
    /// A column from which a decision is read.
    public enum Column: Hashable, Sendable, CaseIterable {
        case mark, decision, note
        /// Only compared with the mark.
        case transaction
    }

    private let columns: [String: Column]
    private let decisions: [String: DeskDecision]

    /// - Parameters:
    ///   - columns: headings, whose case doesn't matter.
    ///   - decisions: words for decisions, whose case doesn't matter; those for programs are known anyway.
    public init(columns: [(String, Column)], decisions: [(String, DeskDecision)]) {
        self.columns = Dictionary(columns.map { ($0.lowercased(), $1) }, uniquingKeysWith: { first, _ in first })
        self.decisions = Dictionary(
            (DeskDecision.allCases.map { ($0.rawValue, $0) } + decisions).map { ($0.lowercased(), $1) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The column with this heading, if it is one of them.
    public func column(_ heading: String) -> Column? { columns[heading.lowercased()] }
    /// The decision for which this word stands, if it is one of them.
    public func decision(_ word: String) -> DeskDecision? { decisions[word.lowercased()] }
}
