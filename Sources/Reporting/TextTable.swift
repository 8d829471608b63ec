/// A table as a terminal shows it: columns two spaces apart, figures to the right.
struct TextTable {
    let headings: [String]
    /// The columns of figures.
    let isFigure: Set<Int>
    let rows: [[String]]

    /// Empty where there is no row.
    var text: String {
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
        return isFigure.contains(column) ? padding + text : text + padding
    }
}
