import Foundation
import Testing

@testable import AppStore

@Suite struct CompactJWSTests {
    @Test(arguments: [
        ("", "it is empty"), ("   \n", "it is empty"), ("a", "it has 1 parts in place of three"),
        ("a.b", "it has 2 parts in place of three"), ("a.b.c.d", "it has 4 parts in place of three"),
    ])
    func refusesOtherThanThreeParts(text: String, why: String) {
        #expect(throws: JWSError.notCompact(why)) { try CompactJWS(text.utf8, limit: 100) }
    }

    @Test(arguments: ["eyJ9=", "ey J9", "ey+9", "ey/9", "eyJ9\u{E9}", "A", "AB", "AAB", "AAAAA"])
    func readsBase64URLStrictly(part: String) throws {
        let jws = try CompactJWS("\(part).\(part).\(part)".utf8, limit: 100)
        #expect(throws: JWSError.notCompact("its header is not base64url")) { try jws.decodedHeader() }
        #expect(throws: JWSError.notCompact("its payload is not base64url")) { try jws.payload() }
        #expect(throws: JWSError.notCompact("its signature is not base64url")) { try jws.signature() }
    }

    @Test(arguments: [0, 63, 65, 70, 96])
    func refusesSignaturesOfAnotherLength(count: Int) throws {
        let signature = Base64URL.encode([UInt8](repeating: 7, count: count))
        let jws = try CompactJWS("e30.e30.\(signature)".utf8, limit: 500)
        #expect(throws: JWSError.malformedSignature("it has \(count) bytes in place of 64")) { try jws.signature() }
    }

    @Test func encodesAndDecodesEveryLength() throws {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let text = Base64URL.encode(bytes)
            #expect(
                Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                    .trimmingCharacters(in: ["="]) == text)
            let decoded = Array(text.utf8).withUnsafeBufferPointer { Base64URL.decode($0[...]) }
            #expect(decoded == bytes)
        }
    }
}
