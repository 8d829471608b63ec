import Foundation

/// A chain of three certificates made on the spot by openssl, which signs receipts as Apple's chains do.
public struct ReceiptAuthority: Sendable {
    /// Certificates in DER form.
    public let root: [UInt8]
    public let intermediate: [UInt8]
    public let leaf: [UInt8]
    private let intermediatePEM: String
    private let leafPEM: String
    private let leafKey: String

    public static let receiptSigning = "1.2.840.113635.100.6.11.1"
    public static let developerRelations = "1.2.840.113635.100.6.2.1"
    public static let purchaseReceipt = "1.2.840.113635.100.6.5.1"
    public static let iTunesStore = "1.2.840.113635.100.6.2.2"

    /// - Parameters:
    ///   - leafMarker: the object identifier of an extension of the leaf; `nil` for a leaf without
    ///   - bits: the size of the leaf's RSA key
    public static func make(
        leafMarker: String? = receiptSigning, intermediateMarker: String? = developerRelations, bits: Int = 2048
    ) async throws -> ReceiptAuthority {
        try await withTemporaryFolder { folder in
            let authority = ["-addext", "basicConstraints=critical,CA:TRUE"]
            try await openssl(
                ["req", "-x509", "-keyout", "root.key", "-out", "root.pem", "-days", "30", "-subj", "/CN=Test root"]
                    + Self.newKey(2048) + authority, in: folder)
            try await issue(
                "intermediate", by: "root", 2048, authority + Self.extension(intermediateMarker), in: folder)
            try await issue(
                "leaf", by: "intermediate", bits,
                ["-addext", "basicConstraints=critical,CA:FALSE"] + Self.extension(leafMarker), in: folder)
            return try ReceiptAuthority(folder)
        }
    }

    private init(_ folder: URL) throws {
        func text(_ name: String) throws -> String {
            try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }
        func der(_ name: String) throws -> [UInt8] {
            let body = try text(name).split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            return Array(Data(base64Encoded: body) ?? Data())
        }
        (root, intermediate, leaf) = (try der("root.pem"), try der("intermediate.pem"), try der("leaf.pem"))
        (intermediatePEM, leafPEM) = (try text("intermediate.pem"), try text("leaf.pem"))
        leafKey = try text("leaf.key")
    }

    /// An app receipt in binary form: the payload in a PKCS#7 container.
    public func appReceipt(
        _ payload: [UInt8], digest: String = "sha256", options: [String] = ["-noattr"]
    ) async throws -> [UInt8] {
        try await withTemporaryFolder { folder in
            try Data(payload).write(to: folder.appending(path: "payload"))
            try write(to: folder)
            try await Self.openssl(
                [
                    "cms", "-sign", "-binary", "-nodetach", "-outform", "DER", "-md", digest, "-in", "payload",
                    "-signer", "leaf.pem", "-inkey", "leaf.key", "-certfile", "intermediate.pem", "-out", "receipt",
                ] + options, in: folder)
            return Array(try Data(contentsOf: folder.appending(path: "receipt")))
        }
    }

    /// The signature of an iOS 6 style receipt over the version and the purchase info.
    public func purchaseSignature(version: UInt8, _ purchaseInfo: [UInt8]) async throws -> [UInt8] {
        let signature = try await withTemporaryFolder { folder in
            try Data([version] + purchaseInfo).write(to: folder.appending(path: "message"))
            try write(to: folder)
            try await Self.openssl(
                ["dgst", "-sha1", "-sign", "leaf.key", "-out", "signature", "message"], in: folder)
            return Array(try Data(contentsOf: folder.appending(path: "signature")))
        }
        let length = withUnsafeBytes(of: UInt32(leaf.count).bigEndian) { Array($0) }
        return [version] + signature + length + leaf
    }

    private func write(to folder: URL) throws {
        for (name, text) in [("intermediate.pem", intermediatePEM), ("leaf.pem", leafPEM), ("leaf.key", leafKey)] {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }
    }

    private static func newKey(_ bits: Int) -> [String] {
        ["-newkey", "rsa:\(bits)", "-nodes", "-sha256"]
    }

    private static func `extension`(_ identifier: String?) -> [String] {
        identifier.map { ["-addext", "\($0)=ASN1:NULL"] } ?? []
    }

    private static func issue(
        _ name: String, by issuer: String, _ bits: Int, _ extensions: [String], in folder: URL
    ) async throws {
        try await openssl(
            ["req", "-new", "-keyout", "\(name).key", "-out", "\(name).csr", "-subj", "/CN=Test \(name)"]
                + newKey(bits) + extensions, in: folder)
        try await openssl(
            [
                "x509", "-req", "-in", "\(name).csr", "-CA", "\(issuer).pem", "-CAkey", "\(issuer).key",
                "-copy_extensions", "copyall", "-days", "20", "-sha256", "-out", "\(name).pem",
            ], in: folder)
    }

    private static func openssl(_ arguments: [String], in folder: URL) async throws {
        try await ChildProcess.runSuccessfully("/usr/bin/openssl", arguments, directory: folder.path)
    }
}
