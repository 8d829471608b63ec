/// Finds the name that somebody who misspelt it most likely meant.
enum NearestName {
    /// The known name that needs the fewest edits, if these are few enough.
    static func to(_ name: String, in known: some Sequence<String>) -> String? {
        let nearest = known.map { (name: $0, edits: edits(name, $0)) }.min { ($0.edits, $0.name) < ($1.edits, $1.name) }
        guard let nearest, nearest.edits <= max(2, name.count / 3) else { return nil }
        // In a short word two edits leave nothing of what was meant, unless they swap two letters.
        guard nearest.edits < 2 || name.count > 4 || nearest.name.sorted() == name.sorted() else { return nil }
        return nearest.name
    }

    /// A suggestion to end a message with; empty if there is none.
    static func suggestion(for name: String, in known: some Sequence<String>) -> String {
        to(name, in: known).map { "; did you mean “\($0)”?" } ?? ""
    }

    /// Levenshtein's distance, row by row.
    private static func edits(_ a: String, _ b: String) -> Int {
        let target = Array(b)
        var row = Array(0...target.count)
        for (i, character) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in target.enumerated() {
                let substituted = diagonal + (character == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[target.count]
    }
}
