import Foundation
import Reconciliation
import Verification

/// A section `[app BUNDLE]` while it is being read.
struct AppSection {
    let bundleID: BundleID
    var environment = Environment.production
    var grace: TimeInterval = 3600
    var graceByType: [ProductType: TimeInterval] = [:]
    var since: Date?
    var storefronts: Set<String> = []
    var takesNotifications = true
    var delivery: [ProductType: DeliveryMode] = [:]
    var secret: GivenSecret<Secret>?
    var verification = VerificationMethod.auto
    var allowsXcode = false
    var issuerID: String?
    var keyID: String?
    var key: GivenSecret<Secret>?
    var appAppleID: Int64?
    var sku: String?
    var reask: TimeInterval? = 90 * 86_400
    var reaskEvery: TimeInterval?
    var redelivery = RedeliveryMode.never
    var thresholds = Thresholds()

    init(bundleID: BundleID) {
        self.bundleID = bundleID
    }

    /// - Throws: what is wrong with the combination of keys, in a sentence.
    func settings() throws(Incomplete) -> AppSettings {
        var app = App(
            bundleID: bundleID, environment: environment, grace: Grace(grace, byType: graceByType), since: since,
            storefronts: storefronts, takesNotifications: takesNotifications, delivery: delivery)
        app.redelivery = redelivery
        app.thresholds = thresholds
        var settings = AppSettings(
            app: app, sharedSecret: secret?.value, verification: verification, serverAPI: try serverAPI(),
            allowsXcode: allowsXcode, sku: sku)
        // Less often by receipts, which are verified as a whole; the App Store Server API tells only what has changed.
        let usual: TimeInterval = (settings.serverAPI == nil ? 30 : 7) * 86_400
        settings.reasking = reask.map { Reasking(window: $0, interval: reaskEvery ?? usual) }
        return settings
    }

    /// Keys that are of no use without others.
    struct Incomplete: Error {
        let text: String
    }

    private func serverAPI() throws(Incomplete) -> ServerAPIAccess? {
        let missing = [
            issuerID == nil ? "server_api_issuer_id" : nil, keyID == nil ? "server_api_key_id" : nil,
            key == nil ? "server_api_key_file" : nil,
        ].compactMap(\.self)
        if missing.count == 3 {
            guard verification != .serverAPI else {
                throw Incomplete(text: "“verification = server-api” needs \(missing.joined(separator: ", "))")
            }
            return nil
        }
        guard let issuerID, let keyID, let key else {
            throw Incomplete(text: "a key for the App Store Server API also needs \(missing.joined(separator: ", "))")
        }
        // Not read if Apple is not asked.
        return key.value.map {
            ServerAPIAccess(issuerID: issuerID, keyID: keyID, key: $0, appAppleID: appAppleID)
        }
    }
}
