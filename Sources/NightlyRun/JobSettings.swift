public import Foundation
public import Reconciliation

/// Everything the job is told from outside: what the configuration says, parsed and checked.
public struct JobSettings: Sendable {
    /// As libpq understands it (`host=… dbname=…`, or a URI); empty for libpq's own environment and defaults.
    public var database: String
    /// The database as whoever takes over a company's own history reaches it; nothing where it is the job's own way.
    public var importDatabase: String?
    public var apps: [AppSettings]
    /// What the night pulls from a company's own databases and files.
    public var sources: [SourceSettings] = []
    public var apple: AppleSettings
    public var workers: Workers
    /// Database connections that own buckets at the same time.
    public var connections: Int
    /// The most receipts in a batch.
    public var batchSize: Int
    /// The share (0…1) of the receipts tried that may have to be tried again before the run ends with code 75.
    public var tryAgainShare: Double
    /// In which support staff read times, beside UTC.
    public var timeZone: TimeZone
    /// Seconds that one statement of the job may take; nothing for no limit.
    public var statementTimeout: TimeInterval?
    /// Seconds for which a night that is under way waits for a database that went away, and for other sessions' locks on
    /// whole tables.
    public var patience: TimeInterval
    public var retention: Retention

    public init(
        database: String, apps: [AppSettings], apple: AppleSettings = AppleSettings(),
        workers: Workers = .exclusive, connections: Int = 2, batchSize: Int = 128, tryAgainShare: Double = 0.5,
        timeZone: TimeZone = .gmt, statementTimeout: TimeInterval? = 600, patience: TimeInterval = 60,
        retention: Retention = Retention()
    ) {
        self.database = database
        self.apps = apps
        self.apple = apple
        self.workers = workers
        self.connections = connections
        self.batchSize = batchSize
        self.tryAgainShare = tryAgainShare
        self.timeZone = timeZone
        self.statementTimeout = statementTimeout
        self.patience = patience
        self.retention = retention
    }
}

/// Whether several runs may work on one night.
public enum Workers: String, Sendable, CaseIterable {
    /// A second run says so and ends with code 75.
    case exclusive
    /// Runs on any number of hosts share the buckets.
    case shared
}

/// One app: what the rules need, and its secret.
public struct AppSettings: Sendable {
    public var app: App
    /// The app's shared secret for `verifyReceipt`; needed for auto-renewable subscriptions.
    public var sharedSecret: Secret?
    public var verification: VerificationMethod
    /// The app's key for the App Store Server API.
    public var serverAPI: ServerAPIAccess?
    /// Whether what Xcode and local tests sign is accepted, though anyone may sign so.
    public var allowsXcode: Bool
    /// The app's own SKU in App Store Connect, by which Apple's sales reports name it.
    public var sku: String?
    /// How many pages of a customer's history are read, of twenty purchases each: nobody bought more, and a history that
    /// never ends must not keep a night going.
    public var mostHistoryPages = 500

    public init(
        app: App, sharedSecret: Secret? = nil, verification: VerificationMethod = .auto,
        serverAPI: ServerAPIAccess? = nil, allowsXcode: Bool = false, sku: String? = nil
    ) {
        self.app = app
        self.sharedSecret = sharedSecret
        self.verification = verification
        self.serverAPI = serverAPI
        self.allowsXcode = allowsXcode
        self.sku = sku
    }

    /// Whether the App Store Server API is asked about this app's receipts.
    var asksServerAPI: Bool {
        switch verification {
        case .auto, .serverAPI: serverAPI != nil
        case .verifyReceipt, .local: false
        }
    }
}

/// By what the App Store Server API lets an app's owner in; all of it is from App Store Connect.
public struct ServerAPIAccess: Sendable {
    public var issuerID: String
    public var keyID: String
    /// The text of the `.p8` file.
    public var key: Secret
    /// The number that the App Store gives the app; if known, what Apple signs is compared with it.
    public var appAppleID: Int64?

    public init(issuerID: String, keyID: String, key: Secret, appAppleID: Int64? = nil) {
        self.issuerID = issuerID
        self.keyID = keyID
        self.key = key
        self.appAppleID = appAppleID
    }
}

/// A secret that no log, error or mirror shows.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The secret itself, for the request that needs it.
    public let plainText: String

    public init(_ plainText: String) {
        self.plainText = plainText
    }

    public var description: String { "(secret)" }
    public var debugDescription: String { "(secret)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How Apple is asked.
public struct AppleSettings: Sendable {
    /// `verifyReceipt` in production and sandbox; other addresses for tests and proxies.
    public var verifyReceiptProduction: String
    public var verifyReceiptSandbox: String
    /// The App Store Server API in production and sandbox, without the path.
    public var serverAPIProduction: String
    public var serverAPISandbox: String
    /// A further file of certificate authorities in PEM, for tests and proxies.
    public var certificateAuthorities: String?
    /// A file of further root certificates in which Apple's signatures may end, for tests.
    public var rootCertificates: String?
    /// The most requests in flight.
    public var concurrency: Int
    /// The most requests a second to one endpoint; nothing for no limit.
    public var requestsPerSecond: Double?
    public var connectTimeout: TimeInterval
    /// Seconds for a whole request.
    public var timeout: TimeInterval
    /// How often one request is tried within a run.
    public var attempts: Int

    public init(
        verifyReceiptProduction: String = "https://buy.itunes.apple.com/verifyReceipt",
        verifyReceiptSandbox: String = "https://sandbox.itunes.apple.com/verifyReceipt",
        serverAPIProduction: String = "https://api.storekit.apple.com",
        serverAPISandbox: String = "https://api.storekit-sandbox.apple.com",
        certificateAuthorities: String? = nil, rootCertificates: String? = nil, concurrency: Int = 64,
        requestsPerSecond: Double? = nil,
        connectTimeout: TimeInterval = 10, timeout: TimeInterval = 30, attempts: Int = 4
    ) {
        self.verifyReceiptProduction = verifyReceiptProduction
        self.verifyReceiptSandbox = verifyReceiptSandbox
        self.serverAPIProduction = serverAPIProduction
        self.serverAPISandbox = serverAPISandbox
        self.certificateAuthorities = certificateAuthorities
        self.rootCertificates = rootCertificates
        self.concurrency = concurrency
        self.requestsPerSecond = requestsPerSecond
        self.connectTimeout = connectTimeout
        self.timeout = timeout
        self.attempts = attempts
    }
}

/// What one run is asked to do, from the command line.
public struct RunOptions: Sendable {
    /// Verify and report, write nothing.
    public var isDryRun: Bool
    /// How many receipts to try; those that hold the last one's payload are tried with it.
    public var limit: Int?
    /// The moment to take for the present.
    public var asOf: AsOf

    public init(isDryRun: Bool = false, limit: Int? = nil, asOf: AsOf = .clock) {
        self.isDryRun = isDryRun
        self.limit = limit
        self.asOf = asOf
    }
}
