/// A PKCS #7 container (CMS SignedData) with its content and all certificates inside and without signed attributes,
/// as Apple's are: the signature is over the content itself.
struct SignedDataContainer {
    private enum Identifier {
        static let data = "1.2.840.113549.1.7.1"
        static let signedData = "1.2.840.113549.1.7.2"
        static let rsaEncryption = "1.2.840.113549.1.1.1"
    }

    let content: [UInt8]
    let digest: Digest
    let signature: [UInt8]

    init(signing content: [UInt8], with key: SigningKey, _ digest: Digest) {
        self.content = content
        self.digest = digest
        signature = key.signature(over: content, digest)
    }

    // MARK: Writing

    func der(_ chain: SigningChain) -> [UInt8] {
        DERWriter.sequence {
            $0.add(identifier: Identifier.signedData)
            $0.add(DERWriter.Tag.context(0)) { $0.add(DERWriter.Tag.sequence) { writeSignedData(chain, to: &$0) } }
        }
    }

    private func writeSignedData(_ chain: SigningChain, to writer: inout DERWriter) {
        writer.add(integer: 1)
        writer.add(DERWriter.Tag.set) { writeAlgorithm(digest.objectIdentifier, to: &$0) }
        writer.add(DERWriter.Tag.sequence) {
            $0.add(identifier: Identifier.data)
            $0.add(DERWriter.Tag.context(0)) { $0.add(DERWriter.Tag.octetString, content) }
        }
        writer.add(DERWriter.Tag.context(0)) {
            for certificate in chain.certificates { $0.add(encoded: certificate.der) }
        }
        writer.add(DERWriter.Tag.set) {
            $0.add(DERWriter.Tag.sequence) { writeSigner(chain.leaf, to: &$0) }
        }
    }

    private func writeSigner(_ leaf: Certificate, to writer: inout DERWriter) {
        writer.add(integer: 1)
        leaf.writeIssuerAndSerial(to: &writer)
        writeAlgorithm(digest.objectIdentifier, to: &writer)
        writeAlgorithm(Identifier.rsaEncryption, to: &writer)
        writer.add(DERWriter.Tag.octetString, signature)
    }

    private func writeAlgorithm(_ identifier: String, to writer: inout DERWriter) {
        writer.add(DERWriter.Tag.sequence) {
            $0.add(identifier: identifier)
            $0.addNull()
        }
    }

    // MARK: Reading

    /// Reads what `der` writes, and nothing else of the many forms that CMS allows.
    init(der: [UInt8]) throws(DERReader.Malformed) {
        var outer = DERReader(der[...])
        var container = try outer.open(DERWriter.Tag.sequence)
        _ = try container.next(DERWriter.Tag.objectIdentifier)
        var explicit = try container.open(DERWriter.Tag.context(0))
        var signedData = try explicit.open(DERWriter.Tag.sequence)
        guard outer.isAtEnd, try signedData.integer() == 1 else { throw DERReader.Malformed() }
        _ = try signedData.next(DERWriter.Tag.set)
        var encapsulated = try signedData.open(DERWriter.Tag.sequence)
        _ = try encapsulated.next(DERWriter.Tag.objectIdentifier)
        var explicitContent = try encapsulated.open(DERWriter.Tag.context(0))
        content = Array(try explicitContent.next(DERWriter.Tag.octetString))
        _ = try signedData.next(DERWriter.Tag.context(0))
        var signers = try signedData.open(DERWriter.Tag.set)
        var signer = try signers.open(DERWriter.Tag.sequence)
        guard try signer.integer() == 1 else { throw DERReader.Malformed() }
        _ = try signer.next(DERWriter.Tag.sequence)
        var algorithm = try signer.open(DERWriter.Tag.sequence)
        digest = try Self.digest(try algorithm.next(DERWriter.Tag.objectIdentifier))
        _ = try signer.next(DERWriter.Tag.sequence)
        signature = Array(try signer.next(DERWriter.Tag.octetString))
    }

    private static func digest(_ identifier: ArraySlice<UInt8>) throws(DERReader.Malformed) -> Digest {
        for digest in [Digest.sha256, .sha1] {
            var writer = DERWriter()
            writer.add(identifier: digest.objectIdentifier)
            if writer.bytes.dropFirst(2).elementsEqual(identifier) { return digest }
        }
        throw DERReader.Malformed()
    }
}
