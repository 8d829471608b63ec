import COpenSSL
import Foundation

/// Signatures of ES256 (RFC 7518, section 3.4): ECDSA over P-256 and SHA-256, as the 32 bytes of r and the 32 of s.
enum ES256 {
    /// The bytes of a signature.
    static let length = 64

    /// Whether the key is on the curve P-256, as ES256 requires.
    static func isKey(_ key: OpaquePointer) -> Bool {
        var name = [CChar](repeating: 0, count: 32)
        var length = 0
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC,
            EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
        else { return false }
        return name.prefix(length).elementsEqual("prime256v1".utf8.map(CChar.init(bitPattern:)))
    }

    /// Whether the signature over the message is by the public key's owner.
    static func isValid(_ signature: [UInt8], over message: UnsafeBufferPointer<UInt8>, key: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        guard signature.count == length, let der = derForm(signature), let context = EVP_MD_CTX_new() else {
            return false
        }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, der.count, message.baseAddress, message.count) == 1
    }

    /// The private key's signature over the message; `nil` if OpenSSL refuses the key.
    static func sign(_ message: [UInt8], with key: OpaquePointer) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = der.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &der, &count, message, message.count) == 1
        else { return nil }
        return rawForm(der.prefix(count))
    }

    /// r and s in the form that OpenSSL reads: a DER sequence of two integers.
    private static func derForm(_ signature: [UInt8]) -> [UInt8]? {
        guard let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let half = signature.count / 2
        let r = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32(half), nil) }
        let s = signature.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress?.advanced(by: half), Int32(half), nil) }
        guard ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var buffer: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(pair, &buffer)
        guard count > 0, let buffer else { return nil }
        defer { COpenSSL_free(buffer) }
        return Array(UnsafeBufferPointer(start: buffer, count: Int(count)))
    }

    private static func rawForm(_ der: ArraySlice<UInt8>) -> [UInt8]? {
        let pair = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &position, bytes.count)
        }
        guard let pair else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let half = Int32(length / 2)
        var r = [UInt8](repeating: 0, count: Int(half))
        var s = r
        guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, half) == half,
            BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, half) == half
        else { return nil }
        return r + s
    }
}
