import Foundation
import Reconciliation

/// A section `[source KIND]` or `[source KIND NAME]` while it is read.
struct SourceSection {
    let name: String
    private let kind: ImportKind
    private var conninfo: String?
    private var text: String?
    private var watermark: String?
    private var overlap: SourceQuery.Overlap?
    private var statementTimeout: TimeInterval?
    private var folder: String?

    /// - Parameter words: those of the section's head.
    init?(words: [String]) {
        guard words.count == 2 || words.count == 3, words[0] == "source", let kind = ImportKind(rawValue: words[1])
        else { return nil }
        self.kind = kind
        name = words.dropFirst().joined(separator: " ")
    }

    /// - Throws: what is wrong with the keys together, in a sentence.
    func settings() throws(Incomplete) -> SourceSettings {
        SourceSettings(name: name, kind: kind, origin: try origin())
    }

    private func origin() throws(Incomplete) -> SourceSettings.Origin {
        let ofQuery = [
            conninfo.map { _ in "conninfo" }, text.map { _ in "query" }, watermark.map { _ in "watermark" },
            overlap.map { _ in "overlap" }, statementTimeout.map { _ in "statement_timeout" },
        ].compactMap(\.self)
        if let folder {
            guard ofQuery.isEmpty else {
                throw Incomplete(text: "“directory” and “\(ofQuery[0])” don't go together; keep files or a query")
            }
            return .folder(folder)
        }
        guard let conninfo, let text else {
            throw Incomplete(text: "needs conninfo and query, or directory")
        }
        guard overlap == nil || watermark != nil else { throw Incomplete(text: "“overlap” needs a watermark") }
        return .query(
            SourceQuery(
                conninfo: conninfo, text: text, watermark: watermark, overlap: overlap,
                statementTimeout: statementTimeout ?? 300))
    }

    /// Keys that are of no use without others, or beside them.
    struct Incomplete: Error {
        let text: String
    }

    /// The keys of such a section.
    static var keys: [String: SettingKey<SourceSection>] {
        [
            "conninfo": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                to.conninfo = try setting.nonEmpty()
            },
            "query": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                try to.keep(query: setting.nonEmpty(), of: setting)
            },
            "query_file": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                try to.keep(query: setting.text(ofFile: 1 << 20), of: setting)
            },
            "watermark": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                to.watermark = try setting.nonEmpty()
            },
            "overlap": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                if let count = Int64(setting.text), count >= 0 {
                    to.overlap = .numbers(count)
                } else {
                    to.overlap = .time(try setting.duration())
                }
            },
            "statement_timeout": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                to.statementTimeout = try setting.timeOut()
            },
            "directory": SettingKey { (setting, to: inout SourceSection) throws(ConfigurationError) in
                guard setting.text.hasPrefix("/") else {
                    throw setting.error("“directory” is a path that begins with /")
                }
                to.folder = setting.text
            },
        ]
    }

    private mutating func keep(query: String, of setting: Setting) throws(ConfigurationError) {
        guard text == nil else { throw setting.error("the query was already given; keep query or query_file") }
        text = query
    }
}
