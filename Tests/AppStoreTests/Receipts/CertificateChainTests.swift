import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct CertificateChainTests {
    private let now = SharedAuthority.moment

    private func verify(
        _ authority: ReceiptAuthority, roots: TrustRoots? = nil, at date: Date? = nil,
        intermediates: [[UInt8]]? = nil
    ) throws(ChainError) -> VerifiedChain {
        let own = (try? TrustRoots.none.adding(contentsOf: authority.root)) ?? .none
        return try ChainVerifier(roots: roots ?? own, requirements: .signedTransaction).verify(
            leaf: authority.leaf, intermediates: intermediates ?? [authority.intermediate, authority.root],
            at: date ?? now)
    }

    @Test func knowsApplesRoots() {
        let names = TrustRoots.apple.certificates.map(\.name)
        #expect(names == ["Apple Root CA", "Apple Root CA - G2", "Apple Root CA - G3"])
        #expect(TrustRoots.apple.certificates.map(\.isSelfIssued) == [true, true, true])
    }

    @Test(.enabled(if: Fixtures.isPresent, "\(Fixtures.reason)")) func holdsApplesRootsAsPublished() throws {
        let files = ["AppleIncRootCertificate", "AppleRootCA-G2", "AppleRootCA-G3"]
        for (file, root) in zip(files, TrustRoots.apple.certificates) {
            #expect(try Fixtures.data("roots/\(file).cer").elementsEqual(root.derBytes))
        }
    }

    @Test(arguments: [
        ("iTunes Store", "1.2.840.113635.100.6.2.2", 1_335_798_355.0),
        ("Worldwide Developer Relations", "1.2.840.113635.100.6.2.1", 1_514_048_624.0),
    ])
    func applesIntermediatesAreSignedByItsRoot(name: String, marker: String, time: Double) throws {
        let known = [AppleIntermediateCertificates.iTunesStore, AppleIntermediateCertificates.developerRelations]
        let intermediate = try #require(known.map(TrustRoots.compiledIn).first { $0.name.contains(name) })
        #expect(intermediate.hasExtension(marker))
        let requirements = ChainRequirements(allowsSHA1: true)
        let chain = try CertificateChain.verify(
            leaf: intermediate, intermediates: [], roots: .apple, at: Date(timeIntervalSince1970: time),
            requirements: requirements)
        #expect(chain.rootName == "Apple Root CA")
        // Its own signature is over SHA-1, which is refused where it isn't asked for.
        #expect(throws: ChainError.self) {
            try CertificateChain.verify(
                leaf: intermediate, intermediates: [], roots: .apple, at: Date(timeIntervalSince1970: time),
                requirements: ChainRequirements(allowsSHA1: false))
        }
    }

    /// Clients send them, and OpenSSL needs fifty times the memory of what is in them.
    @Test("A certificate much larger than any of Apple's is none", arguments: [(60_000, true), (65_536, false)])
    func isOfTheSizeOfACertificate(octets: Int, isRead: Bool) async throws {
        let leaf = try await SharedAuthority.authority.leaf
        var reader = BERReader(leaf)
        var parts = reader.inside(try reader.next(BERTag.sequence))
        let signed = try parts.next()
        let algorithm = try parts.next()
        let signature = ReceiptPayloadWriter.element(0x03, [UInt8](repeating: 0, count: octets))
        let certificate = ReceiptPayloadWriter.element(
            BERTag.sequence, Array(leaf[signed.start..<algorithm.content.upperBound]) + signature)
        #expect(((try? Certificate(der: certificate)) != nil) == isRead)
    }

    @Test func holdsWithinItsPeriodOnly() async throws {
        let authority = try await SharedAuthority.authority
        let chain = try verify(authority)
        #expect(chain.rootName == "Test root")
        #expect(chain.leaf.derBytes == authority.leaf)
        // 20 days, as the leaf and the intermediate, and not the 30 of the root.
        #expect(chain.validity.contains(now.addingTimeInterval(19 * 86_400)))
        let (later, earlier) = (now.addingTimeInterval(21 * 86_400), now.addingTimeInterval(-86_400))
        #expect(throws: ChainError.expired(certificate: "Test intermediate", at: later)) {
            try verify(authority, at: later)
        }
        #expect(throws: ChainError.notYetValid(certificate: "Test root", at: earlier)) {
            try verify(authority, at: earlier)
        }
    }

    @Test func aRememberedChainIsJudgedByItsTimeAgain() async throws {
        let authority = try await SharedAuthority.authority
        let chains = ChainVerifier(roots: try await SharedAuthority.roots, requirements: .signedTransaction)
        func holds(at date: Date) -> Bool {
            (try? chains.verify(leaf: authority.leaf, intermediates: [authority.intermediate], at: date)) != nil
        }
        #expect(holds(at: now))
        #expect(!holds(at: now.addingTimeInterval(21 * 86_400)))
        #expect(holds(at: now.addingTimeInterval(60)))
        #expect(!holds(at: now.addingTimeInterval(-86_400)))
    }

    @Test func endsInOneOfOurRootsOnly() async throws {
        let authority = try await SharedAuthority.authority
        #expect(throws: ChainError.untrustedRoot(issuer: "Test root")) { try verify(authority, roots: .apple) }
        #expect(throws: ChainError.untrustedRoot(issuer: "Test root")) { try verify(authority, roots: TrustRoots.none) }
        #expect(throws: ChainError.untrustedRoot(issuer: "Test intermediate")) {
            try verify(authority, intermediates: [])
        }
    }

    @Test func mayEndInAnIntermediateThatIsTrusted() async throws {
        let authority = try await SharedAuthority.authority
        let roots = try TrustRoots.none.adding(contentsOf: authority.intermediate)
        #expect(try verify(authority, roots: roots, intermediates: []).rootName == "Test intermediate")
    }

    @Test func asksForMarkers() async throws {
        let noLeaf = try await ReceiptAuthority.make(leafMarker: nil)
        #expect(
            throws: ChainError.missingMarker(ReceiptAuthority.receiptSigning, certificate: "Test leaf")
        ) { try verify(noLeaf) }
        let noIntermediate = try await ReceiptAuthority.make(intermediateMarker: nil)
        #expect(
            throws: ChainError.missingMarker(ReceiptAuthority.developerRelations, certificate: "Test intermediate")
        ) { try verify(noIntermediate) }
    }

    @Test func refusesAChangedCertificate() async throws {
        let authority = try await SharedAuthority.authority
        var intermediate = authority.intermediate
        intermediate[intermediate.count - 1] ^= 1
        #expect(throws: ChainError.badSignature(certificate: "Test intermediate")) {
            try verify(authority, intermediates: [intermediate])
        }
        #expect(throws: ChainError.self) { try verify(authority, intermediates: [[0x30, 0x03]]) }
    }

    @Test func readsRootsInBothForms() async throws {
        let root = try await SharedAuthority.authority.root
        let body = Data(root).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        let pem = "a comment\n-----BEGIN CERTIFICATE-----\n\(body)\n-----END CERTIFICATE-----\n"
        #expect(try TrustRoots.none.adding(contentsOf: (pem + pem).utf8).certificates.count == 2)
        #expect(try TrustRoots.apple.adding(contentsOf: root).certificates.count == 4)
        for junk in ["", "junk", "-----BEGIN CERTIFICATE-----\nMII", String(pem.replacing(body.prefix(9), with: "A"))] {
            #expect(throws: MalformedCertificate.self) { try TrustRoots.none.adding(contentsOf: junk.utf8) }
        }
        #expect(throws: MalformedCertificate.self) { try TrustRoots.none.adding(contentsOf: root + [0]) }
    }
}
