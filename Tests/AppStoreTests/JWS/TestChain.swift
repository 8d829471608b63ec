import Foundation
import TestSupport

@testable import AppStore

/// A chain of three certificates such as Apple signs with, made on the spot, and its leaf's key.
struct TestChain: Sendable {
    let root: String
    let intermediate: String
    let leaf: String
    let key: AppStoreConnectKey

    /// What every test may sign with, made once.
    static let shared = Task { try await make() }

    /// Its certificates are valid from now on for some days.
    static func make(
        leafMarker: Bool = true, intermediateMarker: Bool = true, curve: String = "prime256v1"
    ) async throws -> TestChain {
        let marker = { (identifier: String, isThere: Bool) in isThere ? ["\(identifier)=DER:0500"] : [] }
        let root = try await CertificateAuthority.make()
        let intermediate = try await root.subordinate(
            extensions: marker("1.2.840.113635.100.6.2.1", intermediateMarker))
        let leaf = try await intermediate.issue(
            to: "Signer of a test",
            extensions: ["basicConstraints=critical,CA:FALSE"] + marker("1.2.840.113635.100.6.11.1", leafMarker),
            curve: curve)
        // A leaf on another curve is never the one whose key signs.
        let key = curve == "prime256v1" ? leaf.key : try await intermediate.issue(for: "DNS:other").key
        return TestChain(
            root: root.certificate, intermediate: intermediate.certificate, leaf: leaf.certificate,
            key: try AppStoreConnectKey(file: key.utf8))
    }

    /// The chain's own root and no other.
    var roots: TrustRoots {
        get throws { try TrustRoots.none.adding(contentsOf: root.utf8) }
    }

    /// The value of `x5c`: leaf, intermediate, root.
    var certificates: [String] { [leaf, intermediate, root].map(Self.base64) }

    func header(alg: String = "ES256", certificates: [String]? = nil, further: String = "") -> String {
        let list = (certificates ?? self.certificates).map { "\"\($0)\"" }.joined(separator: ",")
        return #"{"alg":"\#(alg)","x5c":[\#(list)]\#(further)}"#
    }

    /// A JWS over the payload.
    func sign(_ payload: String, header: String? = nil) throws -> String {
        let input = [header ?? self.header(), payload].map { Base64URL.encode($0.utf8) }.joined(separator: ".")
        return input + "." + Base64URL.encode(try key.sign(Array(input.utf8)))
    }

    static func base64(_ pem: String) -> String {
        pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    }
}

/// Payloads as Apple words them, of an app `com.example.game`, signed within its chain's validity unless said otherwise.
enum TestPayload {
    static let bundleID = "com.example.game"

    /// When payloads are signed: within the days for which the chains of all tests, made before or after, are valid.
    static let now = milliseconds(Date().addingTimeInterval(86_400))

    static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }

    static func transaction(
        _ id: String = "2000000000000001", bundleID: String = bundleID, environment: String = "Sandbox",
        signedAt: Int64? = now, further: String = ""
    ) -> String {
        let signed = signedAt.map { #","signedDate":\#($0)"# } ?? ""
        return """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(bundleID)","productId":"gems_100",\
            "purchaseDate":1700000000000,"quantity":1,"type":"Consumable","environment":"\(environment)"\(signed)\
            \(further)}
            """
    }

    static func renewalInfo(environment: String = "Sandbox") -> String {
        """
        {"originalTransactionId":"2000000000000001","autoRenewStatus":1,"signedDate":\(now),\
        "environment":"\(environment)"}
        """
    }

    static func notification(
        bundleID: String = bundleID, environment: String = "Sandbox", further: String = ""
    ) -> String {
        """
        {"notificationType":"ONE_TIME_CHARGE","notificationUUID":"u-1","version":"2.0","signedDate":\(now),\
        "data":{"bundleId":"\(bundleID)","environment":"\(environment)"\(further)}}
        """
    }
}
