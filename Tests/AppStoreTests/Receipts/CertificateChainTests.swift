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

    /// SHA-1 can be forged by now, and Apple never signed those that sign transactions over it.
    @Test func isNotSignedOverSHA1WhereItSignsTransactions() {
        let old = TrustRoots.compiledIn(AppleIntermediateCertificates.developerRelations)
        let error = #expect(throws: ChainError.self) {
            try CertificateChain.verify(
                leaf: old, intermediates: [], roots: .apple, at: Date(timeIntervalSince1970: 1_514_048_624),
                requirements: .signedTransaction)
        }
        guard case .refused(let name, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(name.contains("Worldwide Developer Relations"))
    }

    /// Whoever makes one chooses it, and people read it.
    @Test(arguments: [("/O=A company", "/O=A company"), ("/O=x/CN=A\u{1B}[2J company", "A [2J company")])
    func hasANameToShow(subject: String, name: String) async throws {
        let pem = try await ChildProcess.runSuccessfully(
            "/usr/bin/openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null"]
                + ["-subj", subject])
        let certificate = try #require(try TrustRoots.none.adding(contentsOf: pem.utf8).certificates.first)
        #expect(certificate.name == name && certificate.issuerName == name)
    }

    /// Anybody can make one and send it, and no night may end by it.
    @Test func isNoneThatEndsBeforeItBegins() async throws {
        let pem = try await CertificateAuthority.make().issue(for: "DNS:localhost", days: -1).certificate
        let der = try #require(Data(base64Encoded: TestChain.base64(pem)))
        #expect(throws: MalformedCertificate("has no readable period of validity")) { try Certificate(der: Array(der)) }
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

    /// A receipt's own certificate is proved by it alone: a forger may send one that is as long as the genuine one.
    @Test func aRememberedChainVouchesForNoOther() async throws {
        let authority = try await SharedAuthority.authority
        let (leaf, intermediate) = (authority.leaf, authority.intermediate)
        let chains = ChainVerifier(roots: try await SharedAuthority.roots, requirements: .appReceipt)
        func holds(_ leaf: [UInt8], _ intermediates: [[UInt8]]) -> Bool {
            (try? chains.verify(leaf: leaf, intermediates: intermediates, at: now)) != nil
        }
        func isHeld(_ leaf: [UInt8], _ intermediate: [UInt8]) throws -> Bool {
            let (signer, above) = (try Certificate(der: leaf), try Certificate(der: intermediate))
            return (try? chains.verify(leaf: signer, intermediates: [above], at: now)) != nil
        }
        #expect(holds(leaf, [intermediate]))
        let altered = { (certificate: [UInt8]) -> [UInt8] in
            Array(certificate.dropLast()) + [(certificate.last ?? 0) ^ 1]
        }
        #expect(!holds(altered(leaf), [intermediate]) && !holds(leaf, [altered(intermediate)]))
        #expect(try !isHeld(altered(leaf), intermediate) && !isHeld(leaf, altered(intermediate)))
        #expect(!holds(leaf + intermediate, [[]]) && !holds(leaf, [intermediate, []]))
        #expect(try holds(leaf, [intermediate]) && isHeld(leaf, intermediate))
    }

    /// A signer's certificate may outlive those above it.
    @Test func aRememberedChainHoldsOnlyAsLongAsAllOfIt() async throws {
        let root = try await CertificateAuthority.make()
        let intermediate = try await root.subordinate(extensions: ["\(ChainRequirements.developerRelations)=DER:0500"])
        let leaf = try await intermediate.issue(
            to: "Leaf", extensions: ["\(ChainRequirements.receiptSigning)=DER:0500"], days: 20
        ).certificate
        let chains = ChainVerifier(
            roots: try TrustRoots.none.adding(contentsOf: root.certificate.utf8), requirements: .signedTransaction)
        let ders = try [leaf, intermediate.certificate].map {
            Array(try #require(Data(base64Encoded: TestChain.base64($0))))
        }
        for (days, holds) in [(1, true), (10, false), (1, true)] as [(Double, Bool)] {
            let date = Date.now.addingTimeInterval(days * 86_400)
            let chain = try? chains.verify(leaf: ders[0], intermediates: [ders[1]], at: date)
            #expect((chain != nil) == holds)
        }
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

    /// Below a root of Apple's anybody's developer certificate may end; below a user's own only what the user signs.
    @Test func asksForTheIntermediatesMarkerBelowApplesRootsAlways() async throws {
        let exempting = ChainRequirements(
            intermediateMarker: ChainRequirements.developerRelations, exemptsAddedRoots: true, allowsSHA1: true)
        let belowApples = TrustRoots.compiledIn(AppleIntermediateCertificates.iTunesStore)
        let marker = ChainError.missingMarker(ChainRequirements.developerRelations, certificate: "Apple Root CA")
        #expect(throws: marker) {
            try CertificateChain.verify(
                leaf: belowApples, intermediates: [], roots: .apple, at: Date(timeIntervalSince1970: 1_335_798_355),
                requirements: exempting)
        }
        let own = try await ReceiptAuthority.make(intermediateMarker: nil)
        let chain = try ChainVerifier(
            roots: try TrustRoots.none.adding(contentsOf: own.root), requirements: .appReceipt
        ).verify(leaf: own.leaf, intermediates: [own.intermediate], at: now)
        #expect(chain.rootName == "Test root")
    }

    /// As Xcode's are, which a user adds.
    @Test func asksNoMarkerOfASignerThatIsTrustedItself() async throws {
        let authority = try await ReceiptAuthority.make(leafMarker: nil)
        let roots = try TrustRoots.none.adding(contentsOf: authority.leaf)
        #expect(try verify(authority, roots: roots, intermediates: []).rootName == "Test leaf")
    }

    /// They stand beside the receipts in the report.
    @Test func saysWhatIsWrong() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        let malformed = MalformedCertificate("is not one certificate in DER form")
        let texts: [(ChainError, String)] = [
            (.expired(certificate: "A", at: date), "the certificate “A” had expired on 2023-11-14T22:13:20Z"),
            (.notYetValid(certificate: "A", at: date), "the certificate “A” was not yet valid on 2023-11-14T22:13:20Z"),
            (.untrustedRoot(issuer: "A"), "the chain ends in “A”, which is none of the trusted roots"),
            (.missingMarker("1.2.3", certificate: "A"), "the certificate “A” lacks Apple's marker 1.2.3"),
            (.badSignature(certificate: "A"), "the signature in the certificate “A” is wrong"),
            (.refused(certificate: "A", "too old"), "the certificate “A” is refused: too old"),
            (.malformed(malformed), "a certificate is not one certificate in DER form"),
        ]
        for (error, text) in texts { #expect(error.description == text) }
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
