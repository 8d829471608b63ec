import COpenSSL

/// A PKCS #7 container (CMS SignedData) that includes its content and all certificates, without signed attributes, as
/// Apple's: the signature is over the content itself.
struct SignedDataContainer {
    let content: [UInt8]
    let signature: [UInt8]

    /// Makes the container of a content, in DER form.
    static func sign(_ content: [UInt8], with keys: KeyFile, _ digest: Digest) -> [UInt8] {
        let flags = UInt32(CMS_BINARY | CMS_NOATTR | CMS_PARTIAL)
        let container = demanded(CMS_sign(nil, nil, nil, nil, flags), "make a container")
        defer { CMS_ContentInfo_free(container) }
        _ = demanded(
            CMS_add1_signer(container, keys.leaf.handle, keys.key.handle, digest.function, flags), "add a signer")
        for certificate in keys.certificates.dropFirst() {
            demand(CMS_add1_cert(container, certificate.handle), "add a certificate")
        }
        OpenSSLBytes.reading(content) { demand(CMS_final(container, $0, nil, flags), "sign a container") }
        return OpenSSLBytes.encoding { i2d_CMS_ContentInfo(container, $0) }
    }

    /// Reads only what `sign` writes, of the many forms that CMS allows. OpenSSL's reader would also decode the
    /// certificates anew for each answer, which takes ten times as long as verifying the signature.
    init(der: [UInt8]) throws(DERReader.Malformed) {
        var outer = DERReader(der[...])
        var container = try outer.open(V_ASN1_SEQUENCE)
        _ = try container.next(V_ASN1_OBJECT)
        var explicit = try container.openContext()
        var signedData = try explicit.open(V_ASN1_SEQUENCE)
        guard outer.isAtEnd, try signedData.integer() == 1 else { throw DERReader.Malformed() }
        _ = try signedData.next(V_ASN1_SET)
        var encapsulated = try signedData.open(V_ASN1_SEQUENCE)
        _ = try encapsulated.next(V_ASN1_OBJECT)
        var explicitContent = try encapsulated.openContext()
        content = Array(try explicitContent.next(V_ASN1_OCTET_STRING))
        _ = try signedData.openContext()
        var signers = try signedData.open(V_ASN1_SET)
        var signer = try signers.open(V_ASN1_SEQUENCE)
        guard try signer.integer() == 1 else { throw DERReader.Malformed() }
        // The signer, the hash function and the algorithm.
        for _ in 0..<3 { _ = try signer.next(V_ASN1_SEQUENCE) }
        signature = Array(try signer.next(V_ASN1_OCTET_STRING))
    }

    /// Whether the key signed it, over either digest.
    func isSigned(by key: SigningKey) -> Bool {
        [.sha256, .sha1].contains { key.isGenuine(signature, over: content, $0) }
    }
}
