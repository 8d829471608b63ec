package import AppStore
package import Foundation
package import Reconciliation

/// Why a key, a certificate or an address of the configuration can't be used.
package struct UnusableSetting: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Everything that a run verifies with: Apple's endpoints, and Apple's signatures.
package struct AppleServices: Sendable {
    package let verifyReceipt: VerifyReceiptClient
    /// For each app with a key, by bundle id, whichever way its receipts are verified.
    package let serverAPI: [BundleID: ServerAPIClient]
    /// The clients for hearing notifications and asking again about customers. If that can't be done, receipts can
    /// still be verified.
    private let hearing: [BundleID: ServerAPIClient]
    /// The apps whose receipts the App Store Server API is asked about, and all apps.
    private let asking: Set<BundleID>
    private let apps: Set<BundleID>
    private let connection: AppStoreConnection
    private let apple: AppleSettings
    private let roots: TrustRoots
    private let signed: JWSVerifier

    /// - Throws: `UnusableSetting` if a key, a certificate or an address can't be used.
    package init(_ apple: AppleSettings, apps: [AppSettings]) throws(UnusableSetting) {
        let roots = try TrustRoots(apple)
        let signed = JWSVerifier(roots: roots)
        let connection = try AppStoreConnection(apple)
        var serverAPI: [BundleID: ServerAPIClient] = [:]
        var hearing: [BundleID: ServerAPIClient] = [:]
        for app in apps {
            guard let access = app.serverAPI else { continue }
            let bundleID = app.app.bundleID
            let credentials = try access.credentials(for: bundleID)
            func client() -> ServerAPIClient {
                connection.serverAPI(ServerAPISettings(apple), credentials: credentials, verifier: signed)
            }
            // Two, each with a circuit breaker of its own: one counts as down without the other.
            serverAPI[bundleID] = client()
            hearing[bundleID] = client()
        }
        verifyReceipt = connection.verifyReceipt(VerifyReceiptSettings(apple))
        self.serverAPI = serverAPI
        self.hearing = hearing
        self.connection = connection
        self.apple = apple
        asking = Set(apps.filter(\.asksServerAPI).map(\.app.bundleID))
        self.apps = Set(apps.map(\.app.bundleID))
        self.roots = roots
        self.signed = signed
    }

    /// Makes the verifiers of these apps.
    ///
    /// - Parameter now: the run's present moment.
    package func verifiers(of apps: [AppSettings], now: Date) -> [AppVerifier] {
        let offline = OfflineVerifier(roots: roots, signed: signed, now: now)
        return apps.map { app in
            AppVerifier(
                settings: app, offline: offline, verifyReceipt: verifyReceipt,
                serverAPI: app.asksServerAPI ? serverAPI[app.app.bundleID] : nil, now: now)
        }
    }

    /// The history of what Apple told the app's server; `nil` if the app has no key.
    package func noticeHistory(of app: AppSettings) -> NoticeHistory? {
        hearing[app.app.bundleID].map { NoticeHistory(client: $0) }
    }

    /// The questions to Apple about what the app sold before; `nil` if the app has no key.
    package func questions(of app: AppSettings) -> AppleQuestions? {
        hearing[app.app.bundleID].map { AppleQuestions(client: $0, mostPages: app.mostHistoryPages) }
    }

    /// Apple's sales reports of a vendor.
    ///
    /// - Throws: `UnusableSetting` if the key can't be used.
    package func salesReports(_ access: SalesAccess) throws(UnusableSetting) -> SalesReports {
        let settings = SalesReportSettings(
            vendorNumber: access.vendorNumber, address: apple.appStoreConnect,
            retries: Backoff(attempts: apple.attempts))
        return SalesReports(client: connection.salesReports(settings, credentials: try access.credentials))
    }

    /// Whether any of these apps has a key to hear its notifications with.
    package func canHear(_ apps: [AppSettings]) -> Bool { apps.contains { noticeHistory(of: $0) != nil } }

    /// Reads a notification of version 2 that the app's server got from Apple and handed on. One of a tester is read
    /// wherever the app sells. But where only testers' purchases are looked at, one that is paid for is refused: a
    /// section that was not mended when the app went live must not have it taken for a tester's, and thrown away.
    ///
    /// - Parameter payload: its `signedPayload`, a JWS, or the body of Apple's request that holds it. Only Apple's
    ///   signature counts, so nobody on the way need be trusted.
    package func notice(handedOn payload: String, for app: AppSettings) -> Result<Notice, NoticeFlaw> {
        let expectation = JWSExpectation(
            bundleID: app.app.bundleID.text, appAppleID: app.serverAPI?.appAppleID,
            environments: [.production, .sandbox])
        return Result { () throws(NoticeFlaw) in
            guard case .signed(let jws) = try? ReceiptText(payload.utf8) else {
                throw NoticeFlaw(text: "it is no signed notification", isFinal: true)
            }
            let notification: AppStoreNotification
            do throws(JWSError) {
                notification = try signed.notification(jws, expecting: expectation)
            } catch {
                throw NoticeFlaw(error)
            }
            let notice = try Notice(notification)
            guard app.app.environment == .production || notice.environment != .production || notice.transaction == nil
            else {
                throw NoticeFlaw(text: "it is of Production, and the app's section says “environment = sandbox”")
            }
            return notice
        }
    }

    /// Whether what verifies an app's receipts counts as down: the App Store Server API for the app's key, whose limits
    /// are its own, or `verifyReceipt`.
    package func isDown(for app: BundleID) -> Bool {
        asking.contains(app) ? serverAPI[app]?.isCircuitOpen ?? false : verifyReceipt.isCircuitOpen
    }

    /// The apps whose receipts can't be verified for now, as what verifies them counts as down.
    package var appsInOutage: [BundleID] { apps.filter { isDown(for: $0) }.sorted() }

    /// Whether everything that was asked tonight counts as down, so nothing more is sent.
    package var isDown: Bool {
        var asked = serverAPI.filter { asking.contains($0.key) }.values
            .filter { $0.statistics(of: .production).requests > 0 }
            .map(\.isCircuitOpen)
        if verifyReceipt.statistics.production.requests > 0 { asked.append(verifyReceipt.isCircuitOpen) }
        return !asked.isEmpty && asked.allSatisfy { $0 }
    }

    /// Asks the App Store Server API something harmless for each app whose receipts it is asked about, twice if Apple
    /// refuses the key: it has been seen to refuse good ones for a moment.
    ///
    /// - Returns: the apps whose key Apple refuses, and why.
    /// - Throws: `UnusableSetting` if no app is left that can be verified: then the key must be corrected before any
    ///   receipt is touched.
    @discardableResult
    package func checkAccess() async throws(UnusableSetting) -> [BundleID: String] {
        var refused = await refusals(of: asking)
        if !refused.isEmpty {
            // A stop ends the pause; what is asked then is not sent, so that no key counts as refused.
            try? await Task.sleep(for: Self.pauseAfterRefusal)
            refused = await refusals(of: Set(refused.keys))
        }
        if let first = refused.min(by: { $0.key < $1.key }), refused.count == apps.count {
            throw UnusableSetting(first.value)
        }
        return refused
    }

    private static let pauseAfterRefusal = Duration.seconds(2)

    private func refusals(of apps: Set<BundleID>) async -> [BundleID: String] {
        var refused: [BundleID: String] = [:]
        for (bundleID, client) in serverAPI where apps.contains(bundleID) {
            if case .needsConfiguration(let what) = await client.access { refused[bundleID] = what }
        }
        return refused
    }
}

extension ServerAPIClient {
    /// The result of asking for a transaction that nobody has.
    package var access: ServerAPIOutcome<SignedTransaction> {
        get async {
            do {
                return try await transactionInfo(Self.nobodysTransactionID)
            } catch {
                return .notTried
            }
        }
    }
}

extension ServerAPIAccess {
    fileprivate func credentials(for bundleID: BundleID) throws(UnusableSetting) -> ServerAPICredentials {
        do {
            return ServerAPICredentials(
                try AppStoreConnectCredentials(issuerID, keyID, key), bundleID: bundleID.text, appAppleID: appAppleID)
        } catch {
            throw UnusableSetting("The App Store Server API key \(keyID) of \(bundleID) \(error).")
        }
    }
}

extension SalesAccess {
    fileprivate var credentials: AppStoreConnectCredentials {
        get throws(UnusableSetting) {
            do {
                return try AppStoreConnectCredentials(issuerID, keyID, key)
            } catch {
                throw UnusableSetting("The App Store Connect key \(keyID) in [sales] \(error).")
            }
        }
    }
}

extension AppStoreConnectCredentials {
    fileprivate init(_ issuerID: String, _ keyID: String, _ key: Secret) throws(AppStoreConnectKeyError) {
        self.init(issuerID: issuerID, keyID: keyID, key: try AppStoreConnectKey(file: Array(key.plainText.utf8)))
    }
}

extension TrustRoots {
    /// Apple's roots, and those of the file in the settings.
    fileprivate init(_ settings: AppleSettings) throws(UnusableSetting) {
        guard let file = settings.rootCertificates else {
            self = .apple
            return
        }
        do {
            self = try TrustRoots.apple.adding(contentsOf: Array(try Data(contentsOf: URL(filePath: file))))
        } catch {
            throw UnusableSetting("The root certificates in \(file) can't be used: \(error)")
        }
    }
}

extension AppStoreConnection {
    fileprivate init(_ settings: AppleSettings) throws(UnusableSetting) {
        do {
            try self.init(
                concurrency: settings.concurrency, connectTimeout: settings.connectTimeout, timeout: settings.timeout,
                certificateAuthorities: settings.certificateAuthorities)
        } catch {
            throw UnusableSetting("The connection to Apple can't be set up: \(error)")
        }
    }
}

extension VerifyReceiptSettings {
    fileprivate init(_ settings: AppleSettings) {
        self.init()
        production = settings.verifyReceiptProduction
        sandbox = settings.verifyReceiptSandbox
        timeout = settings.timeout
        concurrency = settings.concurrency
        requestsPerSecond = settings.requestsPerSecond
        retries.attempts = settings.attempts
    }
}

extension ServerAPISettings {
    fileprivate init(_ settings: AppleSettings) {
        self.init()
        production = settings.serverAPIProduction
        sandbox = settings.serverAPISandbox
        timeout = settings.timeout
        concurrency = min(concurrency, settings.concurrency)
        retries.attempts = settings.attempts
    }
}
