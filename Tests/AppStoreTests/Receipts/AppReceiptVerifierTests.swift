import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct AppReceiptVerifierTests {
    @Test(arguments: ["sha1", "sha256"]) func acceptsBothGenerations(digest: String) async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let checked = try verifier.check(try await SharedAuthority.receipt(digest: digest))
        #expect(checked.signature == .valid)
        let answer = try checked.contents.get().answer
        #expect(answer.environment == "Sandbox" && answer.bundleID == "com.example.app")
        #expect(answer.transactions.map(\.transactionID) == ["2000000000000001"])
        #expect(answer.transactions.map(\.quantity) == [2])
        #expect(answer.transactions.map(\.productType) == ["Consumable"])
    }

    @Test func acceptsSignedAttributes() async throws {
        let payload = ReceiptPayloadWriter.sample(made: SharedAuthority.moment.formatted(.iso8601)).octets
        let receipt = try await SharedAuthority.authority.appReceipt(payload, options: [])
        #expect(try AppReceiptVerifier(roots: try await SharedAuthority.roots).check(receipt).signature == .valid)
    }

    @Test func isUntrustedWithoutItsRoot() async throws {
        let checked = try AppReceiptVerifier().check(try await SharedAuthority.receipt())
        #expect(checked.signature == .unknownRoot("the chain ends in “Test root”, which is none of the trusted roots"))
        #expect(try checked.contents.get().bundleID == "com.example.app")
    }

    @Test func judgesTheChainWhenTheReceiptWasMade() async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let later = try await SharedAuthority.receipt(made: .now.addingTimeInterval(400 * 86_400))
        let earlier = try await SharedAuthority.receipt(made: .now.addingTimeInterval(-86_400))
        #expect(try verifier.check(later).signature.reason?.contains("had expired on") == true)
        #expect(try verifier.check(earlier).signature.reason?.contains("was not yet valid on") == true)
    }

    @Test func needsACreationDate() async throws {
        let authority = try await SharedAuthority.authority
        var writer = ReceiptPayloadWriter()
        writer.add(2, "com.example.app")
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let undated = try verifier.check(try await authority.appReceipt(writer.octets))
        #expect(undated.signature == .untrusted("the receipt doesn't say when it was made"))
        let junk = try verifier.check(try await authority.appReceipt(Array("junk".utf8)))
        #expect(junk.signature == .untrusted("the receipt's payload is malformed at byte 4"))
        #expect(junk.contents == .failure(.payloadMalformed(position: 4)))
    }

    @Test func needsAppleMarkers() async throws {
        let authority = try await ReceiptAuthority.make(leafMarker: ReceiptAuthority.purchaseReceipt)
        let receipt = try await authority.appReceipt(
            ReceiptPayloadWriter.sample(made: SharedAuthority.moment.formatted(.iso8601)).octets)
        let checked = try AppReceiptVerifier(roots: TrustRoots.none.adding(contentsOf: authority.root)).check(receipt)
        #expect(
            checked.signature
                == .untrusted("the certificate “Test leaf” lacks Apple's marker 1.2.840.113635.100.6.11.1"))
    }

    @Test func refusesAnotherPayloadUnderTheSignature() async throws {
        var receipt = try await SharedAuthority.receipt()
        let id = Array("2000000000000001".utf8)
        let place = try #require(receipt.indices.first { receipt[$0...].starts(with: id) })
        receipt[place + 15] = UInt8(ascii: "2")
        let checked = try AppReceiptVerifier(roots: try await SharedAuthority.roots).check(receipt)
        guard case .invalid(let reason) = checked.signature else {
            Issue.record("\(checked.signature)")
            return
        }
        #expect(reason.hasPrefix("the signature is wrong"))
        #expect(try checked.contents.get().purchases.first?.transactionID == "2000000000000002")
    }

    /// Nothing covers the set of algorithms: anybody may fill it, in whatever a customer's app sends.
    @Test(
        "A container that names ever more digests costs nothing", arguments: [(7, true), (8, false), (15_000, false)])
    func namesDigests(more: Int, isValid: Bool) async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let receipt = try Self.repeating(more, inPart: 2, of: try await SharedAuthority.receipt())
        let checked = try verifier.check(receipt)
        #expect(checked.signature == (isValid ? .valid : .invalid("there are more than 8 digest algorithms")))
        #expect(try checked.contents.get().bundleID == "com.example.app")
    }

    /// Nothing covers the certificates either.
    @Test("A container that holds ever more certificates is not read", arguments: [(60, true), (64, false)])
    func holdsCertificates(more: Int, isRead: Bool) async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let receipt = try Self.repeating(more, inPart: 4, of: try await SharedAuthority.receipt())
        let checked = try? verifier.check(receipt)
        #expect(checked?.signature == (isRead ? SignatureStatus.valid : nil))
    }

    /// Nor what follows them, such as lists of revoked certificates.
    @Test("A container that holds ever more beside its content is not read", arguments: [(10, true), (40_000, false)])
    func holdsLittleBesideItsContent(more: Int, isRead: Bool) async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let list = ReceiptPayloadWriter.element(0xA1, [0x06, 0x01, 0x2A, 0x05, 0x00])
        let lists = ReceiptPayloadWriter.element(0xA1, Array(repeatElement(list, count: more).joined()))
        let receipt = try Self.rewriting(part: 5, of: try await SharedAuthority.receipt()) { tag, signers in
            lists + ReceiptPayloadWriter.element(tag, signers)
        }
        let checked = try? verifier.check(receipt)
        #expect(checked?.signature == (isRead ? SignatureStatus.valid : nil))
    }

    /// Anybody can make these.
    @Test func provesNothingWithoutExactlyOneSignature() async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        let receipt = try await SharedAuthority.receipt()
        let bare = try Self.rewriting(part: 5, of: receipt) { tag, _ in ReceiptPayloadWriter.element(tag, []) }
        let unsigned = try verifier.check(bare)
        #expect(unsigned.signature == .absent)
        #expect(try unsigned.contents.get().bundleID == "com.example.app")
        let anonymous = try verifier.check(try Self.rewriting(part: 4, of: receipt) { _, _ in [] })
        guard case .invalid = anonymous.signature else {
            Issue.record("\(anonymous.signature)")
            return
        }
        #expect(try anonymous.contents.get().bundleID == "com.example.app")
        let doubled = try Self.rewriting(part: 5, of: receipt) { tag, signers in
            ReceiptPayloadWriter.element(tag, signers + signers)
        }
        #expect(try verifier.check(doubled).signature == .invalid("there is more than one signature"))
    }

    /// A customer who buys often has hundreds of purchases in it; only what stands beside them is limited.
    @Test func readsAReceiptOfAnySize() async throws {
        let verifier = AppReceiptVerifier(roots: try await SharedAuthority.roots)
        var writer = ReceiptPayloadWriter.sample(made: SharedAuthority.moment.formatted(.iso8601))
        writer.add(99, [UInt8](repeating: 7, count: SignedContainer.octetsBesideLimit))
        let checked = try verifier.check(try await SharedAuthority.authority.appReceipt(writer.octets))
        #expect(checked.signature == .valid)
        #expect(try checked.contents.get().purchases.count == 1)
    }

    /// The receipt with the first entry of a set in its signed data so many more times: of the digest algorithms, which
    /// are its second part, or of the certificates, its fourth.
    private static func repeating(_ more: Int, inPart part: Int, of receipt: [UInt8]) throws -> [UInt8] {
        try rewriting(part: part, of: receipt) { tag, content in
            var entries = BERReader(content)
            let first = try entries.next()
            let entry = content[first.start..<first.content.upperBound]
            return ReceiptPayloadWriter.element(tag, content + (0..<more).flatMap { _ in entry })
        }
    }

    /// The receipt with something else in the place of a part of its signed data, of which the signers are the fifth.
    private static func rewriting(
        part: Int, of receipt: [UInt8], _ rewritten: (_ tag: UInt8, _ content: [UInt8]) throws -> [UInt8]
    ) throws -> [UInt8] {
        var reader = BERReader(receipt)
        var information = reader.inside(try reader.next())
        let type = try information.next()
        let holder = try information.next()
        var content = information.inside(holder)
        var signedData = content.inside(try content.next())
        let version = try signedData.next()
        for _ in 2..<part { _ = try signedData.next() }
        let set = try signedData.next()
        let element = ReceiptPayloadWriter.element
        let data =
            Array(receipt[version.start..<set.start]) + (try rewritten(set.tag, Array(receipt[set.content])))
            + Array(signedData.rest)
        return element(
            BERTag.sequence,
            Array(receipt[type.start..<holder.start]) + element(0xA0, element(BERTag.sequence, data)))
    }

    @Test func saysWhatIsNoReceipt() async throws {
        let verifier = AppReceiptVerifier()
        let receipt = try await SharedAuthority.receipt()
        #expect(throws: ReceiptError.empty) { try verifier.check([]) }
        #expect(throws: ReceiptError.notPKCS7) { try verifier.check(Array("hello, world".utf8)) }
        let certificate = try await SharedAuthority.authority.root
        #expect(throws: ReceiptError.notPKCS7) { try verifier.check(certificate) }
        for short: [UInt8] in [[0x30], [0x30, 0x82], [0x30, 0x82, 0x01]] {
            #expect(throws: ReceiptError.notPKCS7) { try verifier.check(short) }
        }
        // They begin as one does.
        let type: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        let holdingNoData = ReceiptPayloadWriter.element(0x30, type + [0xA0, 0x03, 0x02, 0x01, 0x01])
        #expect(throws: ReceiptError.notPKCS7) { try verifier.check(holdingNoData) }
        #expect(throws: ReceiptError.notPKCS7) { try verifier.check([0x30, 0x80] + type + [0x1F, 0x81, 0x01, 0x00]) }
        for length in [20, 100, receipt.count / 2, receipt.count - 1] {
            #expect(throws: ReceiptError.truncated) { try verifier.check(Array(receipt.prefix(length))) }
        }
    }

    /// Such as a container that is there for its certificates alone.
    @Test func saysWhatHoldsNoReceipt() async throws {
        let pem =
            "-----BEGIN CERTIFICATE-----\n"
            + Data(try await SharedAuthority.authority.root).base64EncodedString(options: .lineLength64Characters)
            + "\n-----END CERTIFICATE-----\n"
        let text = try await withTemporaryFile(pem) { file in
            try await ChildProcess.runSuccessfully("/usr/bin/openssl", ["crl2pkcs7", "-nocrl", "-certfile", file])
        }
        let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        let bytes = Array(try #require(Data(base64Encoded: base64)))
        #expect(throws: ReceiptError.notApples("the container holds no receipt")) {
            try AppReceiptVerifier().check(bytes)
        }
    }
}
