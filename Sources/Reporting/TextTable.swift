/// A table for a terminal: columns two spaces apart, figures aligned to the right.
package struct TextTable {
    package let headings: [String]
    /// The columns of figures.
    package let figures: Set<Int>
    package let rows: [[String]]

    package init(headings: [String], figures: Set<Int>, rows: [[String]]) {
        self.headings = headings
        self.figures = figures
        self.rows = rows
    }

    /// The table as text; empty if there is no row.
    package var text: String {
        guard !rows.isEmpty else { return "" }
        let lines = [headings] + rows
        let widths = headings.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            let cells = line.indices.map { column in padded(line[column], column, widths[column]) }
            return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }

    private func padded(_ text: String, _ column: Int, _ width: Int) -> String {
        let padding = String(repeating: " ", count: width - text.count)
        return figures.contains(column) ? padding + text : text + padding
    }
}
