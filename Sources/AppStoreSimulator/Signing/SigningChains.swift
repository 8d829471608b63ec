import Foundation
import Synchronization

/// A key that signs what Apple signs, with its certificates: leaf, intermediate, root.
struct SigningChain: Sendable {
    let key: SigningKey
    let certificates: [Certificate]

    var leaf: Certificate { certificates[0] }
    var root: Certificate { certificates[certificates.count - 1] }
}

/// The certificates that follow from a seed, so that every process given the seed has the same: a chain of RSA for
/// receipts, one on the curve P-256 for signed transactions. Made when first needed, since finding primes takes time.
struct SigningChains: Sendable {
    /// Wide around any time that a world is set in.
    private static let validity = Date(timeIntervalSince1970: 978_307_200)..<Date(timeIntervalSince1970: 3_786_912_000)

    /// Signs app receipts.
    let appReceipts: SigningChain
    /// Signs iOS 6 style receipts; its key has 1024 bits, as the form leaves room for.
    let transactionReceipts: SigningChain
    /// Signs transactions, renewals and notifications.
    let payloads: SigningChain

    private init(seed: UInt64) {
        let names = ["root", "intermediate", "receipts", "transaction receipts", "iTunes Store"]
        let keys = Parallel.map(0..<names.count) { number in
            SigningKey(.rsa(bits: number == 3 ? 1024 : 2048), SeededRandom(seed: seed, part: "RSA \(names[number])"))
        }
        let root = Self.root("App Store Simulator Root CA", serial: 2, keys[0])
        let relations = Self.intermediate(Self.developerRelations, serial: 12, keys[1], root, keys[0])
        let leaf = Self.leaf(
            "Mac App Store and iTunes Store Receipt Signing", serial: 101, keys[2], relations, keys[1])
        appReceipts = SigningChain(key: keys[2], certificates: [leaf, relations, root])
        let iTunes = Self.intermediate(
            "Simulated iTunes Store Certification Authority", serial: 14, keys[4], root, keys[0], mark: .iTunesStore)
        let old = Self.leaf(
            "PurchaseReceiptCertificate", serial: 102, keys[3], iTunes, keys[4], mark: .signsTransactionReceipts)
        transactionReceipts = SigningChain(key: keys[3], certificates: [old, iTunes, root])
        payloads = Self.payloads(seed: seed)
    }

    private static func payloads(seed: UInt64) -> SigningChain {
        let keys = ["root", "intermediate", "payloads"].map {
            SigningKey(.p256, SeededRandom(seed: seed, part: "P-256 \($0)"))
        }
        let root = root("App Store Simulator Root CA - G3", serial: 3, keys[0])
        let intermediate = intermediate(developerRelations, serial: 13, keys[1], root, keys[0])
        let leaf = leaf(
            "Prod ECC Mac App Store and iTunes Store Receipt Signing", serial: 103, keys[2], intermediate, keys[1])
        return SigningChain(key: keys[2], certificates: [leaf, intermediate, root])
    }

    private static func root(_ name: String, serial: Int64, _ key: SigningKey) -> Certificate {
        Certificate(
            Certificate.Name(common: name), serial: serial, key: key, validity: validity,
            extensions: [.authority, .signsCertificates])
    }

    private static let developerRelations = "Simulated Worldwide Developer Relations Certification Authority"

    private static func intermediate(
        _ name: String, serial: Int64, _ key: SigningKey, _ root: Certificate, _ rootKey: SigningKey,
        mark: Certificate.Extension = .developerRelations
    ) -> Certificate {
        Certificate(
            Certificate.Name(common: name), serial: serial, key: key,
            issuer: Certificate.Issuer(name: root.name, key: rootKey), validity: validity,
            extensions: [.authority, .signsCertificates, mark])
    }

    private static func leaf(
        _ name: String, serial: Int64, _ key: SigningKey, _ issuer: Certificate, _ issuerKey: SigningKey,
        mark: Certificate.Extension = .signsReceipts
    ) -> Certificate {
        Certificate(
            Certificate.Name(common: name), serial: serial, key: key,
            issuer: Certificate.Issuer(name: issuer.name, key: issuerKey), validity: validity,
            extensions: [.signsData, mark])
    }
}

extension SigningChains {
    private static let made = Mutex<[UInt64: SigningChains]>([:])

    /// The chains of a seed, made once in a process.
    static func of(seed: UInt64) -> SigningChains {
        made.withLock { made in
            let chains = made[seed] ?? SigningChains(seed: seed)
            made[seed] = chains
            return chains
        }
    }

    /// What clients must trust, in PEM: the two roots, and the certificate above that of iOS 6 style receipts, which
    /// clients must have from elsewhere since those receipts don't hold it.
    var rootsPEM: String {
        appReceipts.root.pem + payloads.root.pem + transactionReceipts.certificates[1].pem
    }
}
