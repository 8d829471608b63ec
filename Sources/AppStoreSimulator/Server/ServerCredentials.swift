import COpenSSL
import Foundation

/// A certificate authority made on the spot, and a server's key and certificate for localhost that it signed.
struct ServerCredentials: Sendable {
    let keyPEM: String
    let certificatePEM: String
    /// For clients to trust.
    let authorityPEM: String

    init() throws(SimulatorError) {
        let authorityKey = try Key()
        let serverKey = try Key()
        let authority = try Certificate(name: "App Store Simulator CA", key: authorityKey, serial: 1)
        try authority.add("critical,CA:TRUE", NID_basic_constraints, issuer: authority)
        try authority.add("critical,keyCertSign,cRLSign", NID_key_usage, issuer: authority)
        try authority.add("hash", NID_subject_key_identifier, issuer: authority)
        try authority.sign(as: authority, with: authorityKey)
        let server = try Certificate(name: "localhost", key: serverKey, serial: 2)
        try server.add("DNS:localhost,IP:127.0.0.1", NID_subject_alt_name, issuer: authority)
        try server.add("serverAuth", NID_ext_key_usage, issuer: authority)
        try server.add("keyid", NID_authority_key_identifier, issuer: authority)
        try server.sign(as: authority, with: authorityKey)
        keyPEM = try serverKey.pem()
        certificatePEM = try server.pem()
        authorityPEM = try authority.pem()
    }
}

/// A key pair on the curve P-256.
private final class Key {
    let pointer: OpaquePointer

    init() throws(SimulatorError) {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw .cannotMakeCertificate(step: "key") }
        pointer = key
    }

    deinit { EVP_PKEY_free(pointer) }

    func pem() throws(SimulatorError) -> String {
        try pemText { PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }
}

/// An X.509 certificate, valid from yesterday for a month.
private final class Certificate {
    private let pointer: OpaquePointer

    init(name: String, key: Key, serial: Int) throws(SimulatorError) {
        guard let certificate = X509_new() else { throw .cannotMakeCertificate(step: "certificate") }
        pointer = certificate
        let subject = X509_get_subject_name(certificate)
        guard X509_set_version(certificate, 2) == 1,
            ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial) == 1,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 86_400) != nil,
            X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, Array(name.utf8), -1, -1, 0) == 1,
            X509_set_pubkey(certificate, key.pointer) == 1
        else { throw .cannotMakeCertificate(step: "certificate for \(name)") }
    }

    deinit { X509_free(pointer) }

    func add(_ value: String, _ kind: Int32, issuer: Certificate) throws(SimulatorError) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer.pointer, pointer, nil, nil, 0)
        guard let added = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
            throw .cannotMakeCertificate(step: "extension \(value)")
        }
        defer { X509_EXTENSION_free(added) }
        guard X509_add_ext(pointer, added, -1) == 1 else {
            throw .cannotMakeCertificate(step: "extension \(value)")
        }
    }

    func sign(as issuer: Certificate, with key: Key) throws(SimulatorError) {
        guard X509_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
            X509_sign(pointer, key.pointer, EVP_sha256()) > 0
        else { throw .cannotMakeCertificate(step: "signature") }
    }

    func pem() throws(SimulatorError) -> String {
        try pemText { PEM_write_bio_X509($0, pointer) }
    }
}

/// What a function of OpenSSL writes into a memory buffer.
private func pemText(_ write: (OpaquePointer?) -> Int32) throws(SimulatorError) -> String {
    let buffer = BIO_new(BIO_s_mem())
    defer { BIO_free(buffer) }
    guard write(buffer) == 1 else { throw .cannotMakeCertificate(step: "PEM") }
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(buffer))
    guard BIO_read(buffer, &bytes, Int32(bytes.count)) == bytes.count else {
        throw .cannotMakeCertificate(step: "PEM")
    }
    return String(decoding: bytes, as: UTF8.self)
}
