import AppStore
import Foundation
import Reconciliation

/// Everything by which a run verifies: Apple's endpoints, and Apple's signatures.
struct AppleServices: Sendable {
    let verifyReceipt: VerifyReceiptClient
    /// For each app that has a key, by bundle id.
    let serverAPI: [BundleID: ServerAPIClient]
    let roots: TrustRoots
    let signed: JWSVerifier

    /// - Throws: `JobError.configuration` where a key, a certificate or an address can't be used.
    init(_ settings: JobSettings) throws(JobError) {
        let roots = try TrustRoots(settings.apple)
        let signed = JWSVerifier(roots: roots)
        let connection = try AppStoreConnection(settings.apple)
        var serverAPI: [BundleID: ServerAPIClient] = [:]
        for app in settings.apps where app.asksServerAPI {
            guard let access = app.serverAPI else { continue }
            serverAPI[app.app.bundleID] = connection.serverAPI(
                ServerAPISettings(settings.apple), credentials: try access.credentials(for: app.app.bundleID),
                verifier: signed)
        }
        verifyReceipt = connection.verifyReceipt(VerifyReceiptSettings(settings.apple))
        self.serverAPI = serverAPI
        self.roots = roots
        self.signed = signed
    }

    /// Whether one of Apple's services counts as down, so that nothing more is sent tonight.
    var isDown: Bool { verifyReceipt.isCircuitOpen || serverAPI.values.contains { $0.isCircuitOpen } }

    /// Asks each app's App Store Server API something harmless: a key that Apple refuses must be mended before any
    /// receipt is touched.
    ///
    /// - Throws: `JobError.configuration`.
    func checkAccess() async throws(JobError) {
        for (_, client) in serverAPI.sorted(by: { $0.key < $1.key }) {
            if case .needsConfiguration(let what) = await client.access { throw .configuration(what) }
        }
    }
}

extension ServerAPIClient {
    /// What asking for a transaction that nobody has comes to.
    var access: ServerAPIOutcome<SignedTransaction> {
        get async {
            do {
                return try await transactionInfo("1")
            } catch {
                return .notTried
            }
        }
    }
}

extension ServerAPIAccess {
    fileprivate func credentials(for bundleID: BundleID) throws(JobError) -> ServerAPICredentials {
        do {
            return ServerAPICredentials(
                issuerID: issuerID, keyID: keyID, bundleID: bundleID.text, appAppleID: appAppleID,
                key: try ServerAPIKey(file: Array(key.plainText.utf8)))
        } catch {
            throw .configuration("The App Store Server API key \(keyID) of \(bundleID) \(error).")
        }
    }
}

extension TrustRoots {
    /// Apple's, and those of the file that the settings name.
    fileprivate init(_ settings: AppleSettings) throws(JobError) {
        guard let file = settings.rootCertificates else {
            self = .apple
            return
        }
        do {
            self = try TrustRoots.apple.adding(contentsOf: Array(try Data(contentsOf: URL(filePath: file))))
        } catch {
            throw .configuration("The root certificates in \(file) can't be used: \(error)")
        }
    }
}

extension AppStoreConnection {
    fileprivate init(_ settings: AppleSettings) throws(JobError) {
        do {
            try self.init(
                concurrency: settings.concurrency, connectTimeout: settings.connectTimeout, timeout: settings.timeout,
                certificateAuthorities: settings.certificateAuthorities)
        } catch {
            throw .configuration("The connection to Apple can't be set up: \(error)")
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
