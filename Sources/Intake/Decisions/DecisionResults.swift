package import Job
import Reconciliation

/// The file that says of each decided line what became of it. A line is written once its decision is committed.
package struct DecisionResults {
    private let form: DecisionForm
    private let file: ResultFile

    /// Begins the file anew.
    ///
    /// - Parameters:
    ///   - inputs: the files from which the decisions and the settings are read; the results may go to none of them.
    ///   - isForGroup: whether it lies in a folder of several people's.
    /// - Throws: `UnwritableFile`.
    package init(
        _ path: String, of inputs: [String], _ form: DecisionForm, isForGroup: Bool = false
    ) throws(UnwritableFile) {
        file = try ResultFile(path, besides: inputs, isForGroup: isForGroup)
        self.form = form
        file.empty()
        try write(["line", "transaction_id", "decision", "result", "reason", "what"])
    }

    func add(
        line: Int, id: String?, decision: DeskDecision?, _ outcome: DecisionOutcome
    ) throws(UnwritableFile) {
        let (result, reason, what) =
            switch outcome {
            case .done: ("done", "", "")
            case .already: ("already", "", "it was decided so before")
            case .refused(let refusal): ("refused", refusal.rawValue, Self.text(refusal))
            }
        try write([String(line), id ?? "", decision?.rawValue ?? "", result, reason, what])
    }

    private func write(_ cells: [String]) throws(UnwritableFile) {
        try file.write(form.line(cells))
    }

    /// What is wrong, and what to do.
    private static func text(_ refusal: DecisionRefusal) -> String {
        switch refusal {
        case .anotherReport:
            "no case here is the one that the line shows: it is of another database, or was opened at another time"
        case .changedSince:
            "other evidence came since that report, or an earlier decision was taken back: decide by the latest report"
        case .alreadyDelivered:
            """
            it was delivered since; iap-reconcile check says by whom: if not by the support desk, and you have given it \
            by hand, too, the customer has it twice
            """
        case .excluded: "nothing is owed any more; iap-reconcile check says why"
        case .severalOwners: "evidence speaks for several users; say to whom with iap-reconcile resolve --user"
        case .ownerUncertain: "it is not certain whose it is; ask the customer, and adopt or resolve it with --user"
        case .busy: "another session held the case; read the file again"
        case .malformed:
            "the line is no CSV, or the file ends within it: if it is whole, end the file's last line with a line break"
        case .notText: "the line is not UTF-8, but perhaps GBK; save the file as CSV UTF-8, or as .xlsx"
        case .formula: "a cell is a formula; write the word itself"
        case .noCase: "the column “case” holds no case; leave it as the report has it"
        case .otherTransaction:
            "the line's transaction is not that of its case; perhaps columns were sorted apart from each other"
        case .unknownWord:
            "that is no decision; the words are \(DeskDecision.allCases.map(\.rawValue).joined(separator: ", "))"
        case .noDecision: "there is a note, and no decision"
        case .tooLong: "the note is too long"
        case .contradiction: "another line of the file decides otherwise on the same case"
        }
    }
}
