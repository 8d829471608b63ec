import COpenSSL

/// A PKCS#7 container with signed data, as OpenSSL reads it.
struct SignedContainer: ~Copyable {
    /// The result of verifying a container's only signature.
    enum Signature {
        /// Exactly these octets were signed by the key of the certificate `signer`.
        case right(content: [UInt8], signer: Certificate, certificates: [Certificate])
        case wrong(String)
        case absent
    }

    /// More algorithms than any real container names: Apple's name one. For each, OpenSSL adds a digest to a chain,
    /// which it builds in quadratic time and reads recursively, so some ten thousand would end the program.
    static let digestLimit = 8
    /// More certificates than any real container holds: Apple's hold three. OpenSSL reads the key of each, so those of
    /// one upload could take ten seconds.
    static let certificateLimit = 64
    /// More octets than any real container has beside its content: Apple's have five thousand. OpenSSL takes fifty times
    /// as many for each short name in a certificate, so those of one upload could take half a gigabyte.
    static let octetsBesideLimit = 256 << 10
    /// How many octets OpenSSL may read although nobody knows how many certificates are among them.
    private static let unknownLimit = 1 << 20
    private static let certificatesTag: UInt8 = 0xA0

    private let handle: OpaquePointer
    /// `false` also if they can't be read.
    private let namesFewDigests: Bool

    /// - Throws: `notPKCS7`, `truncated`, or `notApples` for more certificates, or more beside the content, than Apple's
    ///   hold. What follows the container is ignored.
    init(_ bytes: [UInt8]) throws(ReceiptError) {
        let container = try Self.container(bytes)
        guard (try? Self.holdsFewCertificates(bytes)) ?? (container.count <= Self.unknownLimit) else {
            throw .notApples("the container may hold more than \(Self.certificateLimit) certificates")
        }
        guard (try? Self.contentLength(bytes)).map({ container.count - $0 <= Self.octetsBesideLimit }) ?? true else {
            throw .notApples("the container holds more than \(Self.octetsBesideLimit >> 10) KiB beside its content")
        }
        let handle = container.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return d2i_CMS_ContentInfo(nil, &position, buffer.count)
        }
        ERR_clear_error()
        guard let handle else { throw .notPKCS7 }
        self.handle = handle
        namesFewDigests = (try? Self.namesFewDigests(bytes)) ?? false
    }

    deinit {
        CMS_ContentInfo_free(handle)
    }

    /// The container's content, signed or not, for callers that only want to look.
    var unverifiedContent: [UInt8]? {
        guard let content = CMS_get0_content(handle), let octets = content.pointee else { return nil }
        let length = Int(ASN1_STRING_length(octets))
        return Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(octets), count: length))
    }

    /// Verifies the signature, but not who made it.
    func verifiedSignature() -> Signature {
        defer { ERR_clear_error() }
        let signers = CMS_get0_SignerInfos(handle)
        switch COpenSSL_signerCount(signers) {
        case ...0: return .absent
        case 1: break
        default: return .wrong("there is more than one signature")
        }
        guard namesFewDigests else { return .wrong("there are more than \(Self.digestLimit) digest algorithms") }
        guard let output = BIO_new(BIO_s_mem()) else { return .wrong("OpenSSL has no memory") }
        defer { BIO_free(output) }
        let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY | CMS_BINARY)
        guard CMS_verify(handle, nil, nil, nil, output, flags) == 1 else { return .wrong(Self.reason()) }
        var signer: OpaquePointer?
        CMS_SignerInfo_get0_algs(COpenSSL_signer(signers, 0), nil, &signer, nil, nil)
        guard let signer = signer.flatMap(Certificate.init(retaining:)) else {
            return .wrong("the signer's certificate is missing or can't be read")
        }
        return .right(content: Self.bytes(of: output), signer: signer, certificates: certificates())
    }

    /// Those of the container's certificates that can be read.
    private func certificates() -> [Certificate] {
        guard let stack = CMS_get1_certs(handle) else { return [] }
        defer { COpenSSL_freeCertificatesAndReferences(stack) }
        return (0..<max(0, COpenSSL_certificateCount(stack))).compactMap { index in
            COpenSSL_certificate(stack, index).flatMap(Certificate.init(retaining:))
        }
    }

    private static func bytes(of memory: OpaquePointer) -> [UInt8] {
        var start: UnsafePointer<UInt8>?
        let length = COpenSSL_contents(memory, &start)
        return Array(UnsafeBufferPointer(start: start, count: max(0, length)))
    }

    private static func reason() -> String {
        guard let text = ERR_reason_error_string(ERR_peek_last_error()) else { return "the signature is wrong" }
        return "the signature is wrong (\(String(cString: text)))"
    }

    /// The octets of the container, without what follows it.
    private static func container(_ bytes: [UInt8]) throws(ReceiptError) -> ArraySlice<UInt8> {
        guard begins(bytes) else { throw .notPKCS7 }
        var reader = BERReader(bytes)
        do {
            _ = try reader.next(BERTag.sequence)
        } catch {
            throw error.isTruncated ? .truncated : .notPKCS7
        }
        return bytes[..<reader.position]
    }

    /// Whether there are few digest algorithms, whose set follows the version of the signed data (RFC 5652, 5.1).
    private static func namesFewDigests(_ bytes: [UInt8]) throws(BERError) -> Bool {
        var parts = try signedData(bytes)
        _ = try parts.next(BERTag.integer)
        return try parts.inside(try parts.next(BERTag.set)).holds(atMost: digestLimit)
    }

    /// Whether there are few certificates, which follow the content.
    private static func holdsFewCertificates(_ bytes: [UInt8]) throws(BERError) -> Bool {
        var parts = try signedData(bytes)
        _ = try parts.next(BERTag.integer)
        _ = try parts.next(BERTag.set)
        _ = try parts.next(BERTag.sequence)
        guard parts.nextTag == certificatesTag else { return true }
        return try parts.inside(try parts.next()).holds(atMost: certificateLimit)
    }

    /// How many octets the content has, which follows the digest algorithms.
    private static func contentLength(_ bytes: [UInt8]) throws(BERError) -> Int {
        var parts = try signedData(bytes)
        _ = try parts.next(BERTag.integer)
        _ = try parts.next(BERTag.set)
        return try parts.next(BERTag.sequence).content.count
    }

    /// A reader of the signed data, at its version.
    private static func signedData(_ bytes: [UInt8]) throws(BERError) -> BERReader {
        var reader = BERReader(bytes)
        var information = reader.inside(try reader.next(BERTag.sequence))
        _ = try information.next()
        var content = information.inside(try information.next())
        return content.inside(try content.next(BERTag.sequence))
    }

    /// Whether the bytes begin like PKCS#7 with signed data: a sequence that begins with that object identifier.
    static func begins(_ bytes: [UInt8]) -> Bool {
        let signedData: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        guard bytes.count > 2, bytes[0] == BERTag.sequence else { return false }
        let lengthOctets = bytes[1] < 0x80 ? 0 : Int(bytes[1] & 0x7F)
        return lengthOctets <= 4 && bytes.dropFirst(2 + lengthOctets).starts(with: signedData)
    }
}
