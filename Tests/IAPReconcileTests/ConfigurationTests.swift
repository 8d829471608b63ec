import Job
import Verification
import Foundation
import Reconciliation
import Reporting
import Notifications
import TestSupport
import Testing

@testable import IAPReconcile

@Suite struct ConfigurationTests {
    @Test func everySettingIsRead() throws {
        let configuration = try Configuration.parse(
            """
            # A comment of any length \(String(repeating: "·", count: 300))
            [database]
            conninfo = host=/run/x dbname=shop
              statement_timeout = 0
            [apple]
            verify_receipt_production = http://127.0.0.1:1/verifyReceipt
            verify_receipt_sandbox = http://127.0.0.1:2/verifyReceipt
            concurrency = 9
            requests_per_second = 12.5
            connect_timeout = 3
            timeout = 2m
            attempts = 2
            [run]
            workers = shared
            connections = 3
            batch_size = 40
            try_again_share = 0.25
            time_zone = Asia/Shanghai
            [report]
            directory = /tmp/reports ; where support looks
            language = zh
            [retention]
            payloads = 400d
            devices = never
            [app com.example.a-bundle-id-that-is-longer-than-forty-nine-characters]
            environment = sandbox
            grace = 90m
            grace_consumable = 0
            grace_auto_renewable = 2d
            since = 2026-11-01T00:00:00Z
            sku = GAME-2026
            alert_units_missing = 50
            alert_share_lost = 0.02
            alert_money_lost = 499.5 USD
            alert_oldest_case = 14d
            alert_dry_spell = no
            [app com.example.b]
            """, file: "a.conf")
        let settings = configuration.settings
        #expect(settings.database == "host=/run/x dbname=shop")
        #expect(settings.statementTimeout == nil)
        #expect(settings.apple.verifyReceiptProduction == "http://127.0.0.1:1/verifyReceipt")
        #expect(settings.apple.verifyReceiptSandbox == "http://127.0.0.1:2/verifyReceipt")
        #expect(settings.apple.concurrency == 9)
        #expect(settings.apple.requestsPerSecond == 12.5)
        #expect(settings.apple.connectTimeout == 3)
        #expect(settings.apple.timeout == 120)
        #expect(settings.apple.attempts == 2)
        #expect(settings.workers == .shared)
        #expect(settings.connections == 3)
        #expect(settings.batchSize == 40)
        #expect(settings.tryAgainShare == 0.25)
        #expect(settings.timeZone.identifier == "Asia/Shanghai")
        #expect(configuration.reportDirectory == "/tmp/reports")
        #expect(settings.retention == Retention(payloads: 400 * 86_400, devices: nil))
        #expect(configuration.reportLanguage == .simplifiedChinese)
        let bundles = settings.apps.map(\.app.bundleID.text)
        #expect(
            bundles == ["com.example.a-bundle-id-that-is-longer-than-forty-nine-characters", "com.example.b"])
        let app = try #require(settings.apps.first?.app)
        #expect(app.environment == .sandbox)
        #expect(app.grace.seconds(for: nil) == 5400)
        #expect(app.grace.seconds(for: .consumable) == 0)
        #expect(app.grace.seconds(for: .autoRenewable) == 172_800)
        #expect(app.since == Date(timeIntervalSince1970: 1_793_491_200))
        #expect(settings.apps.map(\.sku) == ["GAME-2026", nil])
        var thresholds = Thresholds()
        (thresholds.unitsMissing, thresholds.shareLost, thresholds.oldestCase) = (50, 0.02, 14 * 86_400)
        thresholds.moneyLost = Money(milliunits: 499_500, currency: try #require(CurrencyCode("USD")))
        thresholds.drySpell = false
        #expect(app.thresholds == thresholds)
        #expect(settings.apps.last?.app.thresholds == Thresholds())
        #expect(settings.apps.last?.app.environment == .production)
        #expect(settings.apps.last?.app.grace.seconds(for: .nonRenewing) == 3600)
    }

    @Test(
        arguments: [
            ("[databse]\n", 1, "unknown section [databse]; did you mean “database”?"),
            ("[run]\nbatchsize = 3", 2, "unknown key “batchsize” in [run]; did you mean “batch_size”?"),
            ("\n\n[run]\n\nworkers = many", 5, "“workers” is exclusive or shared, not “many”"),
            ("[run]\nconnections = 0", 2, "“connections” is a whole number from 1 to 64, not “0”"),
            ("[run]\ntry_again_share = 50", 2, "“try_again_share” is a share from 0 to 1, such as 0.5, not “50”"),
            (
                "[run]\ntime_zone = Asia/Shanghi", 2,
                "“time_zone” is a time zone such as Asia/Shanghai, not “Asia/Shanghi”; did you mean “Asia/Shanghai”?"
            ),
            ("[run]\n[apple]\n[run]", 3, "the section [run] was already given in line 1"),
            ("[run]\nworkers = shared\n  workers = shared", 3, "“workers” was already given in line 2"),
            ("workers = shared", 1, "“workers” stands before the first section; sections are [database], [run] …"),
            ("[run]\n[app com.a] environment = sandbox", 2, "neither “[section]” nor “key = value”"),
            ("[run\n", 1, "neither “[section]” nor “key = value”"),
            ("[run]\n\nworkers\n", 3, "neither “[section]” nor “key = value”"),
            ("[app]\n", 1, "an app's section names its bundle id, such as [app com.example.game]"),
            ("[app com.a]\n[app  com.a]\n", 2, "the app com.a was already given in line 1"),
            ("[app com.a]\n[app com.A]\n", 2, "the app com.A, in other letters, was already given in line 1"),
            ("[app com.a]\nsku = X\n[app com.b]\nsku = X", 4, "the SKU “X” was already given in line 2"),
            ("[app com.a]\ngrace = 90", 2, "“grace” is a time such as 45s, 90m, 36h or 2d, not “90”"),
            (
                "[app com.a]\nstorefronts = GBR UAS", 2,
                "“UAS” is no storefront; a country's name of three letters is one of ISO 3166-1"
            ),
            ("[app com.a]\nsince = yesterday", 2, "“since” is a moment such as 2026-11-01T00:00:00Z, not “yesterday”"),
            (
                "[app com.a]\nsince = 2026-02-30T00:00:00Z", 2,
                "“since” is a moment such as 2026-11-01T00:00:00Z, not “2026-02-30T00:00:00Z”"
            ),
            (
                "[app com.a]\nsince = 2026-02-28T24:00:00+08:00", 2,
                "“since” is a moment such as 2026-11-01T00:00:00Z, not “2026-02-28T24:00:00+08:00”"
            ),
            (
                "[run]\ntime_zone = CST", 2,
                "“CST” may mean several time zones: write America/Chicago, or another such as Asia/Shanghai"
            ),
            (
                "[apple]\nverify_receipt_sandbox = ftp://a", 2,
                "“verify_receipt_sandbox” is an address such as https://example.com/path, not “ftp://a”"
            ),
            (
                "[report]\nurl = https://a/b?c=d", 2,
                "“url” is the address of a folder, without “?” and “#”, not “https://a/b?c=d”"
            ),
            ("[database]\nstatement_timeout = 30d", 2, "“statement_timeout” is a time above 0, and below 24 days"),
            ("[report]\ndirectory = ~/reports", 2, "“directory” is a path that begins with /, not “~/reports”"),
            ("[apple]\ntimeout = 0", 2, "“timeout” is a number above 0, not “0”"),
            ("[apple]\nroot_certificates = /etc", 2, "“/etc” is no regular file"),
            ("[retention]\npayload = 90d", 2, "unknown key “payload” in [retention]; did you mean “payloads”?"),
            (
                "[retention]\npayloads = 90", 2,
                "“payloads” is a time of a day or longer, such as 90d, or never, not “90”"
            ),
            (
                "[retention]\ndevices = 23h", 2,
                "“devices” is a time of a day or longer, such as 90d, or never, not “23h”"
            ),
            (
                "[retention]\ndevices = 0", 2,
                "“devices” is a time of a day or longer, such as 90d, or never, not “0”"
            ),
            (
                "[database]\nconninfo = hostt=x", 2,
                "“conninfo” is host=… dbname=… user=… or postgresql://user@host/database, with keywords that libpq "
                    + "knows; in a password there, @ is %40 and / is %2F"
            ),
            ("[sales]\nvendor_number = 85012345", 1, "[sales] needs issuer_id, key_id, key_file"),
            (
                "[sales]\nvendor_number = 0", 2,
                "“vendor_number” is a whole number from 1 to 9223372036854775807, not “0”"
            ),
            (
                "[app com.example.a]\nalert_money_lost = 500", 2,
                "“alert_money_lost” is an amount and its currency, such as 500 USD, not “500”"
            ),
            (
                "[app com.example.a]\nalert_money_lost = -5 USD", 2,
                "“alert_money_lost” is an amount and its currency, such as 500 USD, not “-5 USD”"
            ),
            (
                "[app com.example.a]\nalert_share_lost = 2", 2,
                "“alert_share_lost” is a share from 0 to 1, such as 0.5, not “2”"
            ),
        ] as [(String, Int, String)])
    func whatIsWrongIsNamedWithItsLine(text: String, line: Int, message: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse(text, file: "/etc/x.conf")
        }
        #expect(error.description == "/etc/x.conf:\(line): \(message)")
        #expect(Failure(error).code == .configuration)
    }

    @Test func aLineThatInihWouldCutIsRefused() throws {
        let text = "[database]\nconninfo = host=\(String(repeating: "a", count: 200))"
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "x") }
        #expect(error.line == 2)
        #expect(error.text.contains("longer than"))
    }

    @Test func aSecretInTheFileItselfIsRefusedAndNotRepeated() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("[app com.a]\nshared_secret = hunter2", file: "x")
        }
        #expect(error.text.contains("shared_secret_file"))
        #expect(!error.description.contains("hunter2"))
    }

    @Test(arguments: [
        "host=h password=hunter2", "password = 'hunter2'", "postgresql://u:hunter2@h/d", "postgres://u:hunter2@h",
    ])
    func aPasswordIsRefusedOnlyWhereOthersMayReadIt(conninfo: String) throws {
        let text = "[database]\nconninfo = \(conninfo)"
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse(text, file: "x", isReadableByOthers: true)
        }
        #expect(error.line == 2)
        #expect(!error.description.contains("hunter2"))
        #expect(try Configuration.parse(text, file: "x").settings.database == conninfo)
    }

    @Test(arguments: ["host=h dbname=d", "postgresql://u@h:5432/d", "postgresql://h:5432/d?user=a@b"])
    func aConnectionWithoutPasswordMayBeReadByAll(conninfo: String) throws {
        let text = "[database]\nconninfo = \(conninfo)"
        #expect(
            try Configuration.parse(text, file: "x", isReadableByOthers: true).settings.database == conninfo)
    }

    @Test func theExampleParsesAlsoWithEveryKey() throws {
        let text = try String(
            contentsOf: PackageRoot.folder.appending(path: "cron/iap-reconcile.conf.example"), encoding: .utf8)
        #expect(try Configuration.parse(text, file: "example").settings.apps.count == 1)
        let uncommented = text.split(separator: "\n").map { $0.hasPrefix(";") ? $0.dropFirst() : $0 }
            // Of a secret in a file and the same as a credential, one may be given.
            // A query may stand here or in a file of its own.
            .filter { !$0.hasPrefix("query_file = ") }
            .filter { !$0.contains("_credential = ") && !$0.hasPrefix("certificate_authorities") }
            .joined(separator: "\n")
        let whole = try Configuration.parse(uncommented, file: "example", secrets: .leftAlone)
        #expect(whole.settings.apple.requestsPerSecond == 200)
        #expect(whole.settings.sources.map(\.name) == ["delivered", "entitlements"])
        #expect(whole.telling.mail?.to.count == 2 && whole.telling.metrics != nil && whole.telling.ping?.start != nil)
    }

    @Test(arguments: [
        ("verification = server-api", "server_api_issuer_id, server_api_key_id, server_api_key_file"),
        ("server_api_key_id = 2X9R4HXF34", "server_api_issuer_id, server_api_key_file"),
        ("server_api_issuer_id = x\nserver_api_key_file = x", "server_api_key_id"),
    ])
    func aKeyForTheServerAPINeedsAllItsParts(lines: String, missing: String) throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration.parse("[database]\n[app com.a]\n\(lines)", file: "x", secrets: .leftAlone)
        }
        #expect(error.line == 2)
        #expect(error.text.hasPrefix("[app com.a]: "))
        #expect(error.text.hasSuffix(missing))
    }
}
