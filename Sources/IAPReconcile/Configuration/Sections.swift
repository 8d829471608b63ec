import Verification
import Foundation
import NightlyRun
import Reconciliation
import Reporting

/// The sections that every configuration may hold once, and their keys.
enum Sections {
    static let names = ["database", "apple", "run", "report", "retention", "source KIND", "app BUNDLE"]

    static func keys(of section: String) -> [String: SettingKey<Configuration>]? {
        switch section {
        case "database": database
        case "apple": apple
        case "run": run
        case "report": report
        case "retention": retention
        default: nil
        }
    }

    private static var database: [String: SettingKey<Configuration>] {
        [
            "conninfo": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.database = try setting.nonEmpty()
            },
            "support_conninfo": SettingKey { setting, to throws(ConfigurationError) in
                to.supportDatabase = try setting.nonEmpty()
            },
            "import_conninfo": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.importDatabase = try setting.nonEmpty()
            },
            "privacy_conninfo": SettingKey { setting, to throws(ConfigurationError) in
                to.privacyDatabase = try setting.nonEmpty()
            },
            "statement_timeout": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.statementTimeout = setting.text == "0" ? nil : try setting.timeOut()
            },
            "patience": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.patience = try setting.timeOut()
            },
        ]
    }

    private static var apple: [String: SettingKey<Configuration>] {
        [
            "verify_receipt_production": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.verifyReceiptProduction = try setting.address()
            },
            "verify_receipt_sandbox": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.verifyReceiptSandbox = try setting.address()
            },
            "server_api_production": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.serverAPIProduction = try setting.address()
            },
            "server_api_sandbox": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.serverAPISandbox = try setting.address()
            },
            "certificate_authorities": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.certificateAuthorities = try setting.readableFile()
            },
            "root_certificates": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.rootCertificates = try setting.readableFile()
            },
            "concurrency": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.concurrency = try setting.whole(1...1000)
            },
            "requests_per_second": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.requestsPerSecond = try setting.positive()
            },
            "connect_timeout": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.connectTimeout = try setting.timeOut()
            },
            "timeout": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.timeout = try setting.timeOut()
            },
            "attempts": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.apple.attempts = try setting.whole(1...20)
            },
        ]
    }

    private static var run: [String: SettingKey<Configuration>] {
        [
            "workers": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.workers = try setting.choice(words(Workers.self))
            },
            "connections": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.connections = try setting.whole(1...64)
            },
            "batch_size": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.batchSize = try setting.whole(1...10_000)
            },
            "try_again_share": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.tryAgainShare = try setting.share()
            },
            "time_zone": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.timeZone = try setting.timeZone()
            },
        ]
    }

    private static var report: [String: SettingKey<Configuration>] {
        [
            "directory": SettingKey { setting, to throws(ConfigurationError) in
                to.reportDirectory = try setting.nonEmpty()
            },
            "language": SettingKey { setting, to throws(ConfigurationError) in
                to.reportLanguage = try setting.choice(words(ReportLanguage.self))
            },
            "url": SettingKey { setting, to throws(ConfigurationError) in
                to.reportAddress = try setting.address()
            },
        ]
    }

    private static var retention: [String: SettingKey<Configuration>] {
        [
            "payloads": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.retention.payloads = try setting.keeping()
            },
            "devices": SettingKey { setting, to throws(ConfigurationError) in
                to.settings.retention.devices = try setting.keeping()
            },
        ]
    }

    private static func words<Choice: RawRepresentable<String> & CaseIterable>(_: Choice.Type) -> [String: Choice] {
        Dictionary(uniqueKeysWithValues: Choice.allCases.map { ($0.rawValue, $0) })
    }
}
