import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct SignedTransactionTests {
    private let signer = ReceiptSigner(seed: 7)

    private func parts(_ text: String) throws -> (header: [String: Any], payload: [String: Any], signature: [UInt8]) {
        let parts = text.split(separator: ".")
        #expect(parts.count == 3)
        let objects = try parts.prefix(2).map { part in
            let json = try JSONSerialization.jsonObject(with: Data(try #require(Base64URL.bytes(part))))
            return try #require(json as? [String: Any])
        }
        return (objects[0], objects[1], try #require(Base64URL.bytes(parts[2])))
    }

    private var signedTransaction: String {
        var proof = receipt([consumable("370000000000001")])
        proof.style = .signedTransaction
        proof.transactions[0].price = SimulatedTransaction.Price(milliunits: 30_000, currency: "CNY")
        return signer.encode(proof)
    }

    @Test func isSignedByTheLeafOfThreeCertificates() throws {
        let text = signedTransaction
        let (header, _, signature) = try parts(text)
        #expect(header["alg"] as? String == "ES256")
        let keys = signer.keys.payloads
        #expect(header["x5c"] as? [String] == keys.certificates.map { Data($0.der).base64EncodedString() })
        #expect(keys.certificates.count == 3)
        #expect(signature.count == 64)
        let signed = Array(text.utf8.prefix(text.utf8.count - 87))
        #expect(keys.key.isGenuine(raw: signature, over: signed))
        #expect(!keys.key.isGenuine(raw: signature, over: signed + [0]))
        #expect(Set(Parallel.map(0..<64) { _ in signedTransaction }) == [text])
    }

    @Test func tellsWhatAppleTells() throws {
        let payload = try parts(signedTransaction).payload
        #expect(payload["transactionId"] as? String == "370000000000001")
        #expect(payload["purchaseDate"] as? Int == 1_794_827_200_000)
        #expect(payload["signedDate"] as? Int == 1_794_913_600_000)
        #expect(payload["type"] as? String == "Consumable")
        #expect(payload["price"] as? Int == 30_000)
        #expect(payload["currency"] as? String == "CNY")
        #expect(payload["storefront"] as? String == "CHN")
        #expect(payload["environment"] as? String == "Production")
        #expect(payload["inAppOwnershipType"] as? String == "PURCHASED")
        #expect(payload["revocationDate"] == nil)
    }

    @Test func isNothingThatVerifyReceiptReads() {
        #expect(throws: ReceiptSigner.Unreadable.malformed) { try signer.decode(signedTransaction) }
    }
}
