import Job
import Notifications
import Reconciliation
import Reporting
import Verification

/// Every section and key that a configuration may hold. Defaults are where the values go.
enum SettingsTable {
    /// The sections that may occur once.
    static let sections: [(name: String, keys: [SettingKey<Draft>])] = [
        ("database", database), ("apple", apple), ("run", run), ("report", report), ("decisions", decisions),
        ("retention", retention), ("sales", sales),
        ("webhook", webhook), ("mail", mail), ("ping", ping), ("metrics", metrics),
    ]

    /// The names of all sections, to suggest to somebody who misspelt one.
    static let sectionNames = sections.map(\.name) + ["source KIND", "app BUNDLE"]

    private static let database: [SettingKey<Draft>] = [
        SettingKey(LoginRole.job.key, .conninfo, \.configuration.settings.database),
        SettingKey("owner_conninfo", .conninfo, \.configuration.ownerDatabase),
        SettingKey(LoginRole.support.key, .conninfo, \.configuration.supportDatabase),
        SettingKey(LoginRole.imports.key, .conninfo, \.configuration.settings.importDatabase),
        SettingKey(LoginRole.privacy.key, .conninfo, \.configuration.privacyDatabase),
        SettingKey("service_file", .absolutePath, \.configuration.serviceFile),
        SettingKey("statement_timeout", .timeOutOrNone, \.configuration.settings.statementTimeout),
        SettingKey("patience", .timeOut, \.configuration.settings.patience),
    ]

    private static let apple: [SettingKey<Draft>] = [
        SettingKey("verify_receipt_production", .address, \.configuration.settings.apple.verifyReceiptProduction),
        SettingKey("verify_receipt_sandbox", .address, \.configuration.settings.apple.verifyReceiptSandbox),
        SettingKey("server_api_production", .address, \.configuration.settings.apple.serverAPIProduction),
        SettingKey("server_api_sandbox", .address, \.configuration.settings.apple.serverAPISandbox),
        SettingKey("app_store_connect", .address, \.configuration.settings.apple.appStoreConnect),
        SettingKey("certificate_authorities", .readableFile, \.configuration.settings.apple.certificateAuthorities),
        SettingKey("root_certificates", .readableFile, \.configuration.settings.apple.rootCertificates),
        SettingKey("concurrency", .whole(1...1000), \.configuration.settings.apple.concurrency),
        SettingKey("requests_per_second", .positive, \.configuration.settings.apple.requestsPerSecond),
        SettingKey("connect_timeout", .timeOut, \.configuration.settings.apple.connectTimeout),
        SettingKey("timeout", .timeOut, \.configuration.settings.apple.timeout),
        SettingKey("attempts", .whole(1...20), \.configuration.settings.apple.attempts),
    ]

    private static let run: [SettingKey<Draft>] = [
        SettingKey("workers", .word, \.configuration.settings.workers),
        SettingKey("connections", .whole(1...64), \.configuration.settings.connections),
        SettingKey("batch_size", .whole(1...10_000), \.configuration.settings.batchSize),
        SettingKey("requests_a_night", .whole(0...1_000_000), \.configuration.settings.questionsANight),
        SettingKey("try_again_share", .share, \.configuration.settings.tryAgainShare),
        SettingKey("time_zone", .timeZone, \.configuration.settings.timeZone),
    ]

    private static let report: [SettingKey<Draft>] = [
        SettingKey("directory", .absolutePath, \.configuration.reportDirectory),
        SettingKey("language", .word, \.configuration.reportLanguage),
        SettingKey("url", .folderAddress, \.configuration.reportAddress),
    ]

    private static let decisions: [SettingKey<Draft>] = [
        SettingKey("directory", .folder, \.configuration.decisionsDirectory)
    ]

    private static let retention: [SettingKey<Draft>] = [
        SettingKey("payloads", .keeping, \.configuration.settings.retention.payloads),
        SettingKey("devices", .keeping, \.configuration.settings.retention.devices),
        SettingKey("orders", .keeping, \.configuration.settings.retention.orders),
    ]

    private static let sales: [SettingKey<Draft>] = [
        SettingKey("vendor_number", .whole(1...Int.max), \.sales.vendorNumber),
        SettingKey("issuer_id", .text, \.sales.issuerID),
        SettingKey("key_id", .text, \.sales.keyID),
        SettingKey("key_file", .secretFile, once: \.sales.key),
        SettingKey("key_credential", .secretCredential, once: \.sales.key),
    ]

    private static let webhook: [SettingKey<Draft>] = [
        SettingKey("url", .secretAddress, \.telling.webhook.url),
        SettingKey("secret_file", .signingKeyFile, once: \.telling.webhook.secret),
        SettingKey("secret_credential", .signingKeyCredential, once: \.telling.webhook.secret),
        SettingKey(refusedSecret: "secret"),
        SettingKey("when", .word, \.telling.webhook.trigger),
        SettingKey("timeout", .timeOut, \.telling.webhook.timeout),
        SettingKey("attempts", .whole(1...10), \.telling.webhook.attempts),
        SettingKey("certificate_authorities", .readableFile, \.telling.webhook.certificateAuthorities),
    ]

    private static let mail: [SettingKey<Draft>] = [
        SettingKey("from", .mailAddress, \.telling.mail.from),
        SettingKey("to", .mailAddresses, \.telling.mail.to),
        SettingKey("when", .word, \.telling.mail.trigger),
        SettingKey("subject_prefix", .text, \.telling.mail.subjectPrefix),
        SettingKey("sendmail", .absolutePath, \.telling.mail.sendmail),
        SettingKey("attachment_limit", .size, \.telling.mail.attachmentLimit),
        SettingKey("timeout", .timeOut, \.telling.mail.timeout),
    ]

    private static let ping: [SettingKey<Draft>] = [
        SettingKey("start", .secretAddress, \.telling.ping.start),
        SettingKey("success", .secretAddress, \.telling.ping.success),
        SettingKey("failure", .secretAddress, \.telling.ping.failure),
        SettingKey("timeout", .timeOut, \.telling.ping.timeout),
        SettingKey("certificate_authorities", .readableFile, \.telling.ping.certificateAuthorities),
    ]

    private static let metrics: [SettingKey<Draft>] = [
        SettingKey("file", .metricsFile, \.telling.metricsFile)
    ]

    /// The keys of each section `[source KIND]`.
    static let source: [SettingKey<SourceSection>] = [
        SettingKey(LoginRole.job.key, .conninfo, \.conninfo),
        SettingKey("query", .text, once: \.query, else: sameQuery),
        SettingKey("query_file", .textOfFile, once: \.query, else: sameQuery),
        SettingKey("watermark", .text, \.watermark),
        SettingKey("overlap", .overlap, \.overlap),
        SettingKey("statement_timeout", .timeOut, \.statementTimeout),
        SettingKey("directory", .folder, \.folder),
    ]

    @Sendable private static func sameQuery(_: String) -> String {
        "the query was already given; keep query or query_file"
    }

    /// The keys of each section `[app BUNDLE]`.
    static let app: [SettingKey<AppSection>] = [
        SettingKey("environment", .choice(["production": .production, "sandbox": .sandbox]), \.environment),
        SettingKey("verification", .word, \.verification),
        SettingKey("server_api_issuer_id", .text, \.issuerID),
        SettingKey("server_api_key_id", .text, \.keyID),
        SettingKey("server_api_key_file", .secretFile, once: \.key),
        SettingKey("server_api_key_credential", .secretCredential, once: \.key),
        SettingKey("app_apple_id", .whole(1...Int.max), \.appAppleID),
        SettingKey("allow_xcode", .yesOrNo, \.allowsXcode),
        SettingKey("sku", .text, \.sku),
        SettingKey("shared_secret_file", .secretFile, once: \.secret),
        SettingKey("shared_secret_credential", .secretCredential, once: \.secret),
        SettingKey(refusedSecret: "shared_secret"),
        SettingKey("grace", .duration, \.grace),
        SettingKey("grace_consumable", .duration, \.graceByType[.consumable]),
        SettingKey("grace_non_consumable", .duration, \.graceByType[.nonConsumable]),
        SettingKey("grace_auto_renewable", .duration, \.graceByType[.autoRenewable]),
        SettingKey("grace_non_renewing", .duration, \.graceByType[.nonRenewing]),
        // A consumable is not granted for a time.
        SettingKey("consumable", .word(but: [.entitlement]), \.delivery[.consumable]),
        SettingKey("non_consumable", .word, \.delivery[.nonConsumable]),
        SettingKey("auto_renewable", .word, \.delivery[.autoRenewable]),
        SettingKey("non_renewing", .word, \.delivery[.nonRenewing]),
        SettingKey("notifications", .yesOrNo, \.takesNotifications),
        SettingKey("storefronts", .storefronts, \.storefronts),
        SettingKey("since", .moment, \.since),
        SettingKey("reask", .keeping, \.reask),
        SettingKey("reask_every", .daysOrMore, \.reaskEvery),
        SettingKey("redeliver", .word, \.redelivery),
        SettingKey("alert_units_missing", .whole(1...Int.max), \.thresholds.unitsMissing),
        SettingKey("alert_share_lost", .share, \.thresholds.shareLost),
        SettingKey("alert_money_lost", .money, \.thresholds.moneyLost),
        SettingKey("alert_oldest_case", .duration, \.thresholds.oldestCase),
        SettingKey("alert_redeliveries_failing", .whole(1...Int.max), \.thresholds.redeliveriesFailing),
        SettingKey("alert_dry_spell", .yesOrNo, \.thresholds.drySpell),
    ]
}

/// The content of the sections that may occur once, while they are being read.
struct Draft {
    var configuration = Configuration()
    var telling = NotificationSections()
    var sales = SalesSection()
}
