import COpenSSL
import Foundation

/// An X.509 certificate. Written here rather than by OpenSSL, whose signatures on a curve differ each time.
struct Certificate: Sendable {
    /// In the order that certificates write it.
    struct Name: Sendable {
        let common: String
        var organization = "App Store Simulator"

        fileprivate func write(to writer: inout DERWriter) {
            writer.add(DERWriter.Tag.sequence) {
                Self.write(common, "2.5.4.3", to: &$0)
                Self.write(organization, "2.5.4.10", to: &$0)
            }
        }

        private static func write(_ text: String, _ attribute: String, to writer: inout DERWriter) {
            writer.add(DERWriter.Tag.set) {
                $0.add(DERWriter.Tag.sequence) {
                    $0.add(identifier: attribute)
                    $0.add(DERWriter.Tag.utf8String, text.utf8)
                }
            }
        }
    }

    /// What a certificate says beside its subject.
    struct Extension: Sendable {
        fileprivate let identifier: String
        fileprivate var isCritical = false
        fileprivate let value: [UInt8]
    }

    /// Who signs.
    struct Issuer: Sendable {
        let name: Name
        let key: SigningKey
    }

    let name: Name
    let issuer: Name
    let serial: Int64
    let der: [UInt8]

    /// - Parameter issuer: nothing where the certificate signs itself.
    init(
        _ name: Name, serial: Int64, key: SigningKey, issuer: Issuer? = nil, validity: Range<Date>,
        extensions: [Extension]
    ) {
        let issuer = issuer ?? Issuer(name: name, key: key)
        let extensions = extensions + [.keyIdentifier(of: key), .issuerKeyIdentifier(of: issuer.key)]
        let content = DERWriter.sequence { writer in
            writer.add(DERWriter.Tag.context(0)) { $0.add(integer: 2) }
            writer.add(integer: serial)
            writer.add(encoded: issuer.key.certificateAlgorithm)
            issuer.name.write(to: &writer)
            writer.add(DERWriter.Tag.sequence) {
                $0.add(time: validity.lowerBound)
                $0.add(time: validity.upperBound)
            }
            name.write(to: &writer)
            writer.add(encoded: key.publicKey)
            writer.add(DERWriter.Tag.context(3)) {
                $0.add(DERWriter.Tag.sequence) { for each in extensions { each.write(to: &$0) } }
            }
        }
        der = DERWriter.sequence {
            $0.add(encoded: content)
            $0.add(encoded: issuer.key.certificateAlgorithm)
            $0.add(bits: issuer.key.signature(over: content, .sha256))
        }
        self.name = name
        self.issuer = issuer.name
        self.serial = serial
    }

    /// How a signature names the certificate of its key.
    func writeIssuerAndSerial(to writer: inout DERWriter) {
        writer.add(DERWriter.Tag.sequence) {
            issuer.write(to: &$0)
            $0.add(integer: serial)
        }
    }

    var pem: String {
        let base64 = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
    }
}

extension Certificate.Extension {
    static let authority = Certificate.Extension(
        identifier: "2.5.29.19", isCritical: true,
        value: DERWriter.sequence { $0.add(DERWriter.Tag.boolean, [0xFF]) })

    /// The key signs certificates and lists of revoked ones.
    static let signsCertificates = Certificate.Extension(
        identifier: "2.5.29.15", isCritical: true, value: [DERWriter.Tag.bitString, 2, 1, 0x06])

    /// The key signs data.
    static let signsData = Certificate.Extension(
        identifier: "2.5.29.15", isCritical: true, value: [DERWriter.Tag.bitString, 2, 7, 0x80])

    static let isServer = Certificate.Extension(
        identifier: "2.5.29.37", value: DERWriter.sequence { $0.add(identifier: "1.3.6.1.5.5.7.3.1") })

    /// Names of this machine.
    static let localhost = Certificate.Extension(
        identifier: "2.5.29.17",
        value: DERWriter.sequence {
            $0.add(DERWriter.Tag.context(2, isConstructed: false), "localhost".utf8)
            $0.add(DERWriter.Tag.context(7, isConstructed: false), [127, 0, 0, 1])
        })

    /// The mark of the certificates that Apple signs receipts with.
    static let signsReceipts = Certificate.Extension(
        identifier: "1.2.840.113635.100.6.11.1", value: [DERWriter.Tag.null, 0])

    /// The mark of Apple Worldwide Developer Relations.
    static let developerRelations = Certificate.Extension(
        identifier: "1.2.840.113635.100.6.2.1", value: [DERWriter.Tag.null, 0])

    /// The mark of the certificates that iOS 6 style receipts were signed with.
    static let signsTransactionReceipts = Certificate.Extension(
        identifier: "1.2.840.113635.100.6.5.1", value: [DERWriter.Tag.null, 0])

    /// The mark of the iTunes Store's certificate authority.
    static let iTunesStore = Certificate.Extension(
        identifier: "1.2.840.113635.100.6.2.2", value: [DERWriter.Tag.null, 0])

    fileprivate static func keyIdentifier(of key: SigningKey) -> Certificate.Extension {
        var value = DERWriter()
        value.add(DERWriter.Tag.octetString, Digest.sha1(key.publicKey))
        return Certificate.Extension(identifier: "2.5.29.14", value: value.bytes)
    }

    fileprivate static func issuerKeyIdentifier(of key: SigningKey) -> Certificate.Extension {
        let value = DERWriter.sequence {
            $0.add(DERWriter.Tag.context(0, isConstructed: false), Digest.sha1(key.publicKey))
        }
        return Certificate.Extension(identifier: "2.5.29.35", value: value)
    }

    fileprivate func write(to writer: inout DERWriter) {
        writer.add(DERWriter.Tag.sequence) {
            $0.add(identifier: identifier)
            if isCritical { $0.add(DERWriter.Tag.boolean, [0xFF]) }
            $0.add(DERWriter.Tag.octetString, value)
        }
    }
}

extension DERWriter {
    /// A moment of a certificate's validity: with two digits for the year until 2049, with four afterwards.
    fileprivate mutating func add(time: Date) {
        let text = StoreDate(time).digits
        if text < "2050" {
            add(Tag.utcTime, text.dropFirst(2).utf8)
        } else {
            add(Tag.generalizedTime, text.utf8)
        }
    }
}
