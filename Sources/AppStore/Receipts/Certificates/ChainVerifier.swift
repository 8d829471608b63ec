import Foundation
import Synchronization

/// Verifies chains to one set of roots and remembers those that held, for that is the slow part: three signatures where
/// a receipt has one. All receipts share the same few certificates.
final class ChainVerifier: Sendable {
    private let roots: TrustRoots
    private let requirements: ChainRequirements
    private let capacity: Int
    /// Keyed by the certificates themselves, not by a digest. Chains that failed are not kept, so whoever sends junk
    /// fills nothing.
    private let known = Mutex<[Key: VerifiedChain]>([:])

    /// - Parameter capacity: how many chains are remembered; Apple has used fewer than ten.
    init(roots: TrustRoots, requirements: ChainRequirements, capacity: Int = 64) {
        self.roots = roots
        self.requirements = requirements
        self.capacity = capacity
    }

    /// Finds a chain that holds at the date, from the leaf over any of the intermediates to a root. Certificates are in
    /// DER form; a root among the intermediates is ignored.
    func verify(
        leaf: [UInt8], intermediates: [[UInt8]], at date: Date
    ) throws(ChainError) -> VerifiedChain {
        let key = Self.key(leaf, intermediates)
        if let chain = known(key, at: date) { return chain }
        return try verify(
            leaf: try Self.certificate(leaf), intermediates: try Self.certificates(intermediates), key: key, at: date)
    }

    /// Does the same for certificates that were read already.
    func verify(
        leaf: Certificate, intermediates: [Certificate], at date: Date
    ) throws(ChainError) -> VerifiedChain {
        let key = Self.key(leaf.derBytes, intermediates.map(\.derBytes))
        if let chain = known(key, at: date) { return chain }
        return try verify(leaf: leaf, intermediates: intermediates, key: key, at: date)
    }

    private func known(_ key: Key, at date: Date) -> VerifiedChain? {
        guard let chain = known.withLock({ $0[key] }), chain.validity.contains(date) else { return nil }
        return chain
    }

    private func verify(
        leaf: Certificate, intermediates: [Certificate], key: Key, at date: Date
    ) throws(ChainError) -> VerifiedChain {
        let chain = try CertificateChain.verify(
            leaf: leaf, intermediates: intermediates, roots: roots, at: date, requirements: requirements)
        known.withLock { known in
            if known.count >= capacity { known.removeAll(keepingCapacity: true) }
            known[key] = chain
        }
        return chain
    }

    /// Hashes its octets at once; an array would hash them one by one.
    private struct Key: Hashable {
        let octets: [UInt8]

        func hash(into hasher: inout Hasher) {
            octets.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
    }

    /// The certificates concatenated, each after its length, so that no two lists give the same key.
    private static func key(_ leaf: [UInt8], _ intermediates: [[UInt8]]) -> Key {
        var key: [UInt8] = []
        key.reserveCapacity(leaf.count + intermediates.reduce(0) { $0 + $1.count + 4 } + 4)
        for certificate in [leaf] + intermediates {
            withUnsafeBytes(of: UInt32(truncatingIfNeeded: certificate.count)) { key.append(contentsOf: $0) }
            key.append(contentsOf: certificate)
        }
        return Key(octets: key)
    }

    private static func certificates(_ list: [[UInt8]]) throws(ChainError) -> [Certificate] {
        var certificates: [Certificate] = []
        for der in list { certificates.append(try certificate(der)) }
        return certificates
    }

    private static func certificate(_ der: [UInt8]) throws(ChainError) -> Certificate {
        do { return try Certificate(der: der) } catch { throw .malformed(error) }
    }
}
