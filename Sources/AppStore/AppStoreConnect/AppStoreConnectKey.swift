import COpenSSL
import Foundation

/// The private key of a key for the App Store Server API or for the App Store Connect API, from the `.p8` file that App
/// Store Connect offers only once.
///
/// Its description, its dump and its errors show nothing of the key.
public struct AppStoreConnectKey: Sendable {
    /// In DER form. OpenSSL's own form is made from it for each token, which is rare, so nothing is shared.
    private let der: [UInt8]

    /// - Parameter file: the contents of the `.p8` file: a private key on P-256 in PEM form, without a passphrase.
    public init(file: some Collection<UInt8>) throws(AppStoreConnectKeyError) {
        let text = Array(file.prefix(Self.largestFile))
        try Self.checkKind(String(decoding: text, as: UTF8.self))
        defer { ERR_clear_error() }
        guard let key = Self.parse(text) else { throw .unreadable }
        defer { EVP_PKEY_free(key) }
        guard ES256.isKey(key) else { throw .notP256 }
        der = Self.encoded(key)
    }

    private static let largestFile = 65_536

    /// ES256 over the message.
    func sign(_ message: [UInt8]) throws(AppStoreConnectKeyError) -> [UInt8] {
        let key = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        defer { EVP_PKEY_free(key) }
        guard let key, let signature = ES256.sign(message, with: key) else { throw .unreadable }
        return signature
    }

    private static func checkKind(_ text: String) throws(AppStoreConnectKeyError) {
        guard text.contains("-----BEGIN ") else { throw .notPEM }
        if text.contains("ENCRYPTED") { throw .encrypted }
        guard text.contains("PRIVATE KEY-----") else { throw .notPrivate }
    }

    private static func parse(_ text: [UInt8]) -> OpaquePointer? {
        text.withUnsafeBytes { bytes in
            let buffer = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { BIO_free(buffer) }
            // Without this callback OpenSSL would ask for a passphrase on the terminal.
            return PEM_read_bio_PrivateKey(buffer, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    private static func encoded(_ key: OpaquePointer) -> [UInt8] {
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = i2d_PrivateKey(key, &buffer)
        guard length > 0, let buffer else { return [] }
        defer { COpenSSL_free(buffer) }
        return Array(UnsafeBufferPointer(start: buffer, count: Int(length)))
    }
}

extension AppStoreConnectKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "a private key, which is not shown" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

/// Why a file is not such a key.
public enum AppStoreConnectKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    case notPEM
    /// A certificate or a public key.
    case notPrivate
    /// It needs a passphrase.
    case encrypted
    case unreadable
    /// A key of another kind or curve.
    case notP256

    /// A phrase to follow the name of the file.
    public var description: String {
        switch self {
        case .notPEM: "is not in PEM form: it should begin with -----BEGIN PRIVATE KEY-----"
        case .notPrivate: "holds no private key: use the .p8 file that App Store Connect gave out"
        case .encrypted: "is encrypted: use the .p8 file as App Store Connect gave it out"
        case .unreadable: "holds a private key that can't be read: the file may be cut short or changed"
        case .notP256: "holds a private key that is not on the curve P-256, which App Store Connect's keys are on"
        }
    }
}
