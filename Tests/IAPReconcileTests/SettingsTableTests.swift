import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import IAPReconcile

/// What the example and the man page say of the configuration, beside the table of its keys.
@Suite struct SettingsTableTests {
    /// The keys of each section that somebody may write, by the first word of the section's name.
    private static let keys: [String: Set<String>] = {
        func names<Target>(_ keys: [SettingKey<Target>]) -> Set<String> {
            Set(keys.filter { !$0.isRefused }.map(\.name))
        }
        var all = ["source": names(SettingsTable.source), "app": names(SettingsTable.app)]
        for section in SettingsTable.sections { all[section.name] = names(section.keys) }
        return all
    }()

    @Test func noKeyStandsTwiceInASection() {
        let sections = SettingsTable.sections.map { $0.keys.map(\.name) }
        for names in sections + [SettingsTable.source.map(\.name), SettingsTable.app.map(\.name)] {
            #expect(Set(names).count == names.count, "\(names)")
        }
        #expect(Set(SettingsTable.sectionNames).count == SettingsTable.sectionNames.count)
    }

    @Test(arguments: ProductType.allCases)
    func everyTypeOfProductHasItsKeys(type: ProductType) {
        let app = Self.keys["app"] ?? []
        #expect(app.contains(type.rawValue) && app.contains("grace_\(type.rawValue)"))
    }

    /// Each key is shown in its section, set or commented out, and no other.
    @Test func theExampleShowsEachKeyAndNoOther() throws {
        var shown: [String: Set<String>] = [:]
        var section = ""
        for line in try text("cron/iap-reconcile.conf.example").split(separator: "\n") {
            if let head = line.wholeMatch(of: /;?\[(\w+)[^\]]*\]/) {
                section = String(head.1)
                shown[section] = shown[section] ?? []
            } else if let key = line.firstMatch(of: #/^;?(\w+) = /#) {
                shown[section]?.insert(String(key.1))
            }
        }
        expect(shown)
    }

    /// What has no default: the rest of such a section hangs on it, or nothing is told.
    private static let required: [String: Set<String>] = [
        "webhook": ["url", "secret_file", "secret_credential"], "mail": ["from", "to"],
        "ping": ["start", "success", "failure"], "metrics": ["file"],
        "sales": ["vendor_number", "issuer_id", "key_id", "key_file", "key_credential"],
        "source": ["conninfo", "query", "query_file", "directory"],
    ]

    /// What those sections need before any other key can stand in them.
    private static let heads = [
        "webhook": "[webhook]\nurl = https://a.example\nsecret_credential = x",
        "mail": "[mail]\nfrom = a@b.c\nto = a@b.c", "ping": "[ping]\nstart = https://a.example",
        "source": "[source orders]\nconninfo = dbname=x\nquery = SELECT 1", "app": "[app com.example.game]",
    ]

    /// A commented key stands at its default, unless the comment says otherwise: set so, it changes nothing.
    @Test func theExampleShowsEachDefault() throws {
        var section = ""
        var comment = ""
        var isCommentOver = true
        var compared: Set<String> = []
        for line in try text("cron/iap-reconcile.conf.example").split(separator: "\n").map(String.init) {
            if line.hasPrefix("# ") {
                comment = (isCommentOver ? "" : comment + " ") + line.dropFirst(2)
                isCommentOver = false
                continue
            }
            isCommentOver = true
            if let head = line.wholeMatch(of: /;?\[(\w+)[^\]]*\]/) {
                section = String(head.1)
                comment = ""
            } else if let key = line.wholeMatch(of: /;(\w+) = .*/), !comment.lowercased().contains("by default"),
                Self.required[section]?.contains(String(key.1)) != true
            {
                let head = Self.heads[section] ?? "[\(section)]"
                #expect(
                    try configuration(head + "\n" + line.dropFirst()) == configuration(head), "[\(section)] \(line)")
                compared.insert("\(section).\(key.1)")
            }
        }
        #expect(compared.count > 30 && compared.contains("run.batch_size"), "\(compared.sorted())")
    }

    /// All that a configuration comes to, as text.
    private func configuration(_ text: String) throws -> String {
        var dumped = ""
        dump(try Configuration.parse(text, file: "x", secrets: .leftAlone), to: &dumped)
        return dumped
    }

    /// Each key stands in bold in the paragraph of its section.
    @Test func theManPageDocumentsEachKey() throws {
        let page = try text("docs/iap-reconcile.8")
        let configuration = try #require(page.firstMatch(of: #/\.SH CONFIGURATION\n((?s).*?)\n\.SH /#)).1
        var documented: [String: Set<String>] = [:]
        for paragraph in configuration.components(separatedBy: ".TP\n").dropFirst() {
            let head = try #require(paragraph.firstMatch(of: /^\.BI? "?\[(\w+)/), "\(paragraph.prefix(40))")
            let bold = paragraph.matches(of: /(?m)^\.BR? (\w+)/).map { String($0.1) }
            documented[String(head.1)] = Set(bold)
        }
        #expect(Set(documented.keys) == Set(Self.keys.keys))
        for (section, keys) in Self.keys {
            let missing = keys.subtracting(documented[section] ?? [])
            #expect(missing.isEmpty, "[\(section)] lacks \(missing.sorted())")
        }
    }

    private func expect(_ shown: [String: Set<String>]) {
        #expect(Set(shown.keys) == Set(Self.keys.keys))
        for (section, keys) in Self.keys {
            let differing = keys.symmetricDifference(shown[section] ?? [])
            #expect(differing.isEmpty, "[\(section)]: \(differing.sorted())")
        }
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: PackageRoot.folder.appending(path: path), encoding: .utf8)
    }
}
