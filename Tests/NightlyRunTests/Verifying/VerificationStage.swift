import Foundation
import Reconciliation
import TestSupport
import Verification

@testable import AppStoreSimulator

/// One app, what verifies for it, and an App Store Server API that answers as a test says. What is signed is signed with
/// the simulated App Store's keys.
struct VerificationStage {
    static let bundleID = "com.example.game"

    let services: AppleServices
    let app: AppSettings
    let server: TestServer
    private let apple: AppleSettings

    /// An answer's HTTP status and body.
    typealias Reply = (status: Int, body: String)

    static func with<Value>(
        _ verification: VerificationMethod = .auto, hasKey: Bool = true, appAppleID: Int64? = nil,
        allowsXcode: Bool = false, reply: @escaping @Sendable (ReceivedRequest) -> Reply = { _ in (500, "") },
        _ body: (VerificationStage) async throws -> Value
    ) async throws -> Value {
        let store = SimulatedAppStore(seed: 7)
        let roots = URL(filePath: NSTemporaryDirectory()).appending(path: "roots-\(UUID().uuidString).pem")
        try Data(store.rootCertificatesPEM.utf8).write(to: roots)
        defer { try? FileManager.default.removeItem(at: roots) }
        let key = ServerAPIAccess(
            issuerID: APIKey.issuerID, keyID: APIKey.keyID, key: Secret(store.apiKey.privateKeyPEM),
            appAppleID: appAppleID)
        let app = AppSettings(
            app: App(
                bundleID: try required(BundleID(bundleID)), environment: .production, grace: Grace(3600), since: nil),
            verification: verification, serverAPI: hasKey ? key : nil, allowsXcode: allowsXcode)
        return try await TestServer.with({ request, connection in
            let (status, body) = reply(request)
            return connection.respond(status, body: Data(body.utf8))
        }) { server in
            var apple = AppleSettings()
            apple.verifyReceiptProduction = server.url + "/verifyReceipt"
            apple.verifyReceiptSandbox = server.url + "/sandbox/verifyReceipt"
            apple.serverAPIProduction = server.url
            apple.serverAPISandbox = server.url + "/sandbox"
            apple.rootCertificates = roots.path()
            apple.attempts = 1
            let services = try AppleServices(apple, apps: [app])
            return try await body(VerificationStage(services: services, app: app, server: server, apple: apple))
        }
    }

    /// The same app before a simulated App Store.
    func services(at store: SimulatedAppStore.Addresses) throws -> AppleServices {
        var apple = apple
        apple.serverAPIProduction = store.productionServerAPI
        apple.serverAPISandbox = store.sandboxServerAPI
        return try AppleServices(apple, apps: [app])
    }

    /// What verification says of an upload.
    func judge(_ payload: String, of users: [String] = ["anna"]) async throws -> AppVerifier.Judgement {
        let verifier = try Self.required(services.verifiers(of: [app], now: Date()).first)
        return try await verifier.judge(payload, of: users)
    }

    private static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw CocoaError(.featureUnsupported) }
        return value
    }
}

extension AppVerifier.Judgement {
    /// Why the upload is no use, or not yet; `nil` if it was verified.
    var problem: (problem: ReceiptProblem, text: String)? {
        guard case .problem(let problem, let text) = verdict else { return nil }
        return (problem, text)
    }
}

/// What Apple signs, as text, within the simulated certificates' validity.
enum Signed {
    static let now = Int64(Date().timeIntervalSince1970 * 1000)

    /// A JWS over the payload.
    ///
    /// - Parameter algorithm: as JSON writes it.
    static func jws(_ payload: String, by keys: TestKeys = .usual, algorithm: String = "ES256") -> String {
        let certificates = keys.payloads.certificates.map { "\"\(Data($0.der).base64EncodedString())\"" }
        let header = #"{"alg":"\#(algorithm)","x5c":[\#(certificates.joined(separator: ","))]}"#
        let signed = [header, payload].map { Base64URL.text(Array($0.utf8)) }.joined(separator: ".")
        return signed + "." + Base64URL.text(keys.payloads.key.rawSignature(over: Array(signed.utf8)))
    }

    static func transaction(
        _ id: String, original: String? = nil, bundleID: String = VerificationStage.bundleID,
        environment: String = "Production", signedAt: Int64 = now, further: String = ""
    ) -> String {
        jws(
            """
            {"transactionId":"\(id)","originalTransactionId":"\(original ?? id)","bundleId":"\(bundleID)",\
            "productId":"gems_100","purchaseDate":1700000000000,"quantity":1,"type":"Consumable",\
            "environment":"\(environment)","appTransactionId":"704","signedDate":\(signedAt)\(further)}
            """)
    }

    static func renewalInfo(_ original: String, environment: String = "Production") -> String {
        jws(
            """
            {"originalTransactionId":"\(original)","autoRenewProductId":"pass","autoRenewStatus":1,\
            "signedDate":\(now),"environment":"\(environment)"}
            """)
    }

    static func appTransaction(
        _ id: String? = "704", bundleID: String = VerificationStage.bundleID, environment: String = "Production"
    ) -> String {
        let id = id.map { #","appTransactionId":"\#($0)""# } ?? ""
        return jws(
            """
            {"receiptType":"\(environment)","bundleId":"\(bundleID)","applicationVersion":"1.2",\
            "receiptCreationDate":\(now)\(id)}
            """)
    }

    /// - Parameter data: further fields of `data`, with a comma before each.
    static func notification(
        _ type: String = "ONE_TIME_CHARGE", uuid: String = "u-1", bundleID: String = VerificationStage.bundleID,
        environment: String = "Production", data: String = ""
    ) -> String {
        jws(
            """
            {"notificationType":"\(type)","notificationUUID":"\(uuid)","version":"2.0","signedDate":\(now),\
            "data":{"bundleId":"\(bundleID)","environment":"\(environment)"\(data)}}
            """)
    }

    static func notification(carrying transaction: String, environment: String = "Production") -> String {
        notification(environment: environment, data: #","signedTransactionInfo":"\#(transaction)""#)
    }

    /// A page of Get Transaction History.
    static func page(_ transactions: [String]) -> String {
        let list = transactions.map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"signedTransactions":[\#(list)],"hasMore":false,"revision":"r"}"#
    }
}
