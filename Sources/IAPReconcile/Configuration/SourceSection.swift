import Foundation
import Reconciliation

/// A section `[source KIND]` or `[source KIND NAME]` while it is being read.
struct SourceSection {
    let name: String
    private let kind: ImportKind
    var conninfo: String?
    var query: String?
    var watermark: String?
    var overlap: SourceQuery.Overlap?
    var statementTimeout: TimeInterval?
    var folder: String?

    /// - Parameter words: the words of the section's head.
    init?(words: [String]) {
        guard words.count == 2 || words.count == 3, words[0] == "source", let kind = ImportKind(rawValue: words[1])
        else { return nil }
        self.kind = kind
        name = words.dropFirst().joined(separator: " ")
    }

    /// - Throws: what is wrong with the combination of keys, in a sentence.
    func settings() throws(Incomplete) -> SourceSettings {
        SourceSettings(name: name, kind: kind, origin: try origin())
    }

    private func origin() throws(Incomplete) -> SourceSettings.Origin {
        let ofQuery = [
            conninfo.map { _ in "conninfo" }, query.map { _ in "query" }, watermark.map { _ in "watermark" },
            overlap.map { _ in "overlap" }, statementTimeout.map { _ in "statement_timeout" },
        ].compactMap(\.self)
        if let folder {
            guard ofQuery.isEmpty else {
                throw Incomplete(text: "“directory” and “\(ofQuery[0])” don't go together; keep files or a query")
            }
            return .folder(folder)
        }
        guard let conninfo, let query else {
            throw Incomplete(text: "needs conninfo and query, or directory")
        }
        guard overlap == nil || watermark != nil else { throw Incomplete(text: "“overlap” needs a watermark") }
        return .query(
            SourceQuery(
                conninfo: conninfo, text: query, watermark: watermark, overlap: overlap,
                statementTimeout: statementTimeout ?? 300))
    }

    /// Keys that are of no use without others, or together with them.
    struct Incomplete: Error {
        let text: String
    }
}
