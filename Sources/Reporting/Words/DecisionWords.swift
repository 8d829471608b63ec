public import Reconciliation

extension ReportLanguage {
    /// The names of the columns and decisions of a report's spreadsheet, in every language and in the CSV file.
    public static let decisionVocabulary: DecisionVocabulary = {
        let headings: [(Phrase, DecisionVocabulary.Column)] = [
            (.caseMark, .mark), (.decision, .decision), (.decisionNote, .note), (.transaction, .transaction),
        ]
        let wordings = allCases.map(\.wording)
        return DecisionVocabulary(
            columns: CSV.decisionColumns
                + wordings.flatMap { words in headings.map { (words($0.0), $0.1) } },
            decisions: wordings.flatMap { words in DeskDecision.allCases.map { (words.name(of: $0), $0) } })
    }()
}
