import Job
import Notifications
import Reconciliation
import Verification

/// Takes the lines of a configuration one by one, and refuses the first that it doesn't know.
struct ConfigurationParser {
    private let file: String
    private let isReadableByOthers: Bool
    private let secrets: Secrets
    private var draft = Draft()
    private var apps: [AppSection] = []
    private var sources: [SourceSection] = []
    /// The lines on which each section begins and each of its keys is.
    private var seen: [[String]: Int] = [:]

    init(file: String, isReadableByOthers: Bool, secrets: Secrets) {
        self.file = file
        self.isReadableByOthers = isReadableByOthers
        self.secrets = secrets
    }

    func finished() throws(ConfigurationError) -> Configuration {
        var finished = draft.configuration
        for app in apps {
            do {
                finished.settings.apps.append(try app.settings())
            } catch {
                throw ConfigurationError(
                    file: file, line: seen[["app", app.bundleID.text]], text: "[app \(app.bundleID)]: \(error.text)")
            }
        }
        for source in sources {
            do {
                finished.settings.sources.append(try source.settings())
            } catch {
                throw ConfigurationError(
                    file: file, line: seen[["source", source.name]], text: "[source \(source.name)]: \(error.text)")
            }
        }
        finished.settings.sales = try salesAccess()
        finished.telling = try tellingSettings()
        return finished
    }

    private func salesAccess() throws(ConfigurationError) -> SalesAccess? {
        guard let line = seen[[SalesSection.name]] else { return nil }
        do {
            return try draft.sales.settings()
        } catch {
            throw ConfigurationError(
                file: file, line: line, text: "[sales] needs \(error.missing.joined(separator: ", "))")
        }
    }

    private func tellingSettings() throws(ConfigurationError) -> NotificationSettings {
        do {
            return try draft.telling.settings(given: Set(NotificationSections.names.filter { seen[[$0]] != nil }))
        } catch {
            throw ConfigurationError(
                file: file, line: seen[[error.section]],
                text: "[\(error.section)] needs \(error.missing.joined(separator: ", "))")
        }
    }

    mutating func take(_ entry: IniEntry) throws(ConfigurationError) {
        switch entry.content {
        case .section:
            try once([entry.section], "the section [\(entry.section)]", at: entry.line)
            try begin(entry)
        case .setting(let key, let value):
            let setting = Setting(
                file: file, line: entry.line, key: key, text: value, isReadableByOthers: isReadableByOthers,
                secrets: secrets)
            try once([entry.section, key], "“\(key)”", at: entry.line)
            try take(setting, of: entry.section)
        }
    }

    private mutating func begin(_ entry: IniEntry) throws(ConfigurationError) {
        if SettingsTable.sections.contains(where: { $0.name == entry.section }) { return }
        let words = entry.section.split(whereSeparator: \.isWhitespace).map(String.init)
        if words.first == "source" { return try beginSource(entry, words) }
        guard words.first == "app" else {
            throw error(
                entry.line,
                "unknown section [\(entry.section)]"
                    + NearestName.suggestion(for: entry.section, in: SettingsTable.sectionNames))
        }
        guard words.count == 2, let bundleID = BundleID(words[1]) else {
            throw error(entry.line, "an app's section names its bundle id, such as [app com.example.game]")
        }
        try once(["app", bundleID.text], "the app \(bundleID)", at: entry.line)
        // Apple has no two such apps: one of them is misspelt, and would be looked at for nothing.
        let inAnyLetters = ["app in any letters", bundleID.text.lowercased()]
        try once(inAnyLetters, "the app \(bundleID), in other letters,", at: entry.line)
        apps.append(AppSection(bundleID: bundleID))
    }

    private mutating func beginSource(_ entry: IniEntry, _ words: [String]) throws(ConfigurationError) {
        guard let source = SourceSection(words: words) else {
            let kinds = ImportKind.allCases.map(\.rawValue)
            throw error(
                entry.line,
                "a source's section names what it holds, one of \(kinds.joined(separator: ", ")), such as "
                    + "[source delivered]\(NearestName.suggestion(for: words.dropFirst().first ?? "", in: kinds))")
        }
        try once(["source", source.name], "the source \(source.name)", at: entry.line)
        sources.append(source)
    }

    private mutating func take(_ setting: Setting, of section: String) throws(ConfigurationError) {
        if section.isEmpty {
            throw setting.error("“\(setting.key)” stands before the first section; sections are [database], [run] …")
        }
        if let keys = SettingsTable.sections.first(where: { $0.name == section })?.keys {
            try Self.key(setting, among: keys, of: section).read(setting, &draft)
        } else if section.hasPrefix("source"), var source = sources.popLast() {
            try Self.key(setting, among: SettingsTable.source, of: section).read(setting, &source)
            sources.append(source)
        } else if var app = apps.popLast() {
            try Self.key(setting, among: SettingsTable.app, of: section).read(setting, &app)
            apps.append(app)
            if setting.key == "sku" { try once(["sku", setting.text], "the SKU “\(setting.text)”", at: setting.line) }
        }
    }

    private static func key<Target>(
        _ setting: Setting, among keys: [SettingKey<Target>], of section: String
    ) throws(ConfigurationError) -> SettingKey<Target> {
        guard let key = keys.first(where: { $0.name == setting.key }) else {
            throw setting.error(
                "unknown key “\(setting.key)” in [\(section)]"
                    + NearestName.suggestion(for: setting.key, in: keys.map(\.name)))
        }
        return key
    }

    private mutating func once(_ name: [String], _ what: String, at line: Int) throws(ConfigurationError) {
        if let first = seen.updateValue(line, forKey: name) {
            throw error(line, "\(what) was already given in line \(first)")
        }
    }

    private func error(_ line: Int, _ text: String) -> ConfigurationError {
        ConfigurationError(file: file, line: line, text: text)
    }
}
