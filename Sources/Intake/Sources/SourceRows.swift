package import Foundation
package import Importing
package import Ledger
package import Reconciliation

/// Judges rows of a source: each is a line that can be taken, or is refused.
package struct SourceRows {
    let kind: ImportKind
    /// The apps that the configuration knows.
    let apps: Set<BundleID>
    package let present: Date

    package init(kind: ImportKind, apps: Set<BundleID>, present: Date) {
        self.kind = kind
        self.apps = apps
        self.present = present
    }

    /// Lines that can be taken, and rows that can't.
    package struct Judged {
        package var lines: [ImportLine] = []
        package var refused: [RefusedRow] = []

        package init() {}
    }

    /// The fields of the columns that a query gives.
    package func fields(inColumns names: [String]) throws(SourceError) -> [ImportField] {
        do {
            return try kind.fields(inColumns: names)
        } catch {
            throw SourceError(error.description)
        }
    }

    /// - Parameter place: where a row stands, by which it is known if it has no id.
    package func judge(
        _ rows: [[String?]], _ fields: [ImportField], from number: Int, place: (Int) -> String
    ) -> Judged {
        var judged = Judged()
        for (index, values) in rows.enumerated() {
            var line = LineFields()
            for (field, value) in zip(fields, values) { line[field] = value }
            let namedID = line.id(of: kind)
            let name = namedID ?? place(index)
            do throws(LineProblem) {
                let row = try ImportedRow(line, kind: kind)
                add(ImportLine(number: number + index, row: row, name: name), to: &judged)
            } catch {
                let numbers = namedID == nil && kind.tellsOfDeliveries ? line.numbers : []
                judged.refused.append(RefusedRow(error, id: name, namedID: namedID, numbers: numbers))
            }
        }
        return judged
    }

    /// Adds a line that could be read, unless it can't be true.
    package func add(_ line: ImportLine, to judged: inout Judged) {
        let bundleID = line.row.bundleID
        guard apps.contains(bundleID) else {
            let problem = LineProblem(unknownApp: bundleID)
            // One refusal stands for all lines of the app.
            return judged.refused.append(RefusedRow(problem, id: "\(bundleID)", namedID: nil))
        }
        if let problem = line.row.liesAhead(of: present) {
            return judged.refused.append(RefusedRow(problem, id: line.name, namedID: line.row.id))
        }
        judged.lines.append(line)
    }
}

extension RefusedRow {
    init(_ problem: LineProblem, id: String, namedID: String?, numbers: [String] = []) {
        self.init(id: id, namedID: namedID, numbers: numbers, reason: problem.reason, text: problem.text)
    }
}
