import COpenSSL
import Foundation

/// An X.509 certificate.
final class Certificate: Sendable {
    /// Safe to share: OpenSSL counts references atomically and computes cached fields under a lock of the certificate's
    /// own; nothing here changes it.
    nonisolated(unsafe) let handle: OpaquePointer
    let derBytes: [UInt8]
    /// From `notBefore` up to, but as OpenSSL counts not including, `notAfter`.
    let validity: Range<Date>

    /// Many times the largest certificate known: Apple's have two thousand octets. A megabyte of short names would take
    /// OpenSSL fifty.
    static let sizeLimit = 64 << 10

    /// - Throws: if the bytes are anything but one certificate in DER form, and not too large for one.
    convenience init(der bytes: [UInt8]) throws(MalformedCertificate) {
        guard bytes.count <= Self.sizeLimit else { throw MalformedCertificate("is not one certificate in DER form") }
        let parsed = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            guard let handle = d2i_X509(nil, &position, buffer.count) else { return nil }
            if position == buffer.baseAddress?.advanced(by: buffer.count) { return handle }
            X509_free(handle)
            return nil
        }
        ERR_clear_error()
        guard let parsed else { throw MalformedCertificate("is not one certificate in DER form") }
        try self.init(taking: parsed)
    }

    /// Takes over the reference that `handle` holds.
    init(taking handle: OpaquePointer) throws(MalformedCertificate) {
        guard let from = Self.date(X509_get0_notBefore(handle)), let until = Self.date(X509_get0_notAfter(handle)),
            from <= until
        else {
            // An instance that was never fully initialised has no deinit.
            X509_free(handle)
            throw MalformedCertificate("has no readable period of validity")
        }
        self.handle = handle
        derBytes = Self.encoded(handle)
        validity = from..<until
    }

    /// Shares a certificate that another owner has; `nil` if it can't be read.
    convenience init?(retaining handle: OpaquePointer) {
        X509_up_ref(handle)
        try? self.init(taking: handle)
    }

    deinit {
        X509_free(handle)
    }

    /// The name to show people: the common name, or else the whole subject on one line.
    var name: String { Self.commonName(X509_get_subject_name(handle)) }

    /// The issuer's common name, or else its whole name.
    var issuerName: String { Self.commonName(X509_get_issuer_name(handle)) }

    /// The public key, which lives as long as this certificate; `nil` if OpenSSL doesn't know its kind.
    var publicKey: OpaquePointer? {
        X509_get0_pubkey(handle)
    }

    /// Whether it was issued by itself, as roots are.
    var isSelfIssued: Bool {
        X509_get_extension_flags(handle) & UInt32(EXFLAG_SI) != 0
    }

    /// Whether it has the extension with this object identifier, such as `1.2.840.113635.100.6.11.1`.
    func hasExtension(_ identifier: String) -> Bool {
        guard let object = OBJ_txt2obj(identifier, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(handle, object, -1) >= 0
    }

    private static func encoded(_ handle: OpaquePointer) -> [UInt8] {
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509(handle, &buffer)
        guard length > 0, let buffer else { return [] }
        defer { COpenSSL_free(buffer) }
        return Array(UnsafeBufferPointer(start: buffer, count: Int(length)))
    }

    private static func commonName(_ subject: OpaquePointer?) -> String {
        guard let subject else { return "" }
        var buffer = [CChar](repeating: 0, count: 200)
        if X509_NAME_get_text_by_NID(subject, NID_commonName, &buffer, Int32(buffer.count)) < 0 {
            X509_NAME_oneline(subject, &buffer, Int32(buffer.count))
        }
        let text = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 ? " " : $0 }))
    }

    private static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var broken = tm()
        guard let time, ASN1_TIME_to_tm(time, &broken) == 1 else { return nil }
        return Date(timeIntervalSince1970: Double(timegm(&broken)))
    }
}

/// Why bytes are not a certificate.
public struct MalformedCertificate: Error, Hashable, CustomStringConvertible {
    /// What is wrong, a phrase to follow the name of the file: “is not one certificate in DER form”.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
