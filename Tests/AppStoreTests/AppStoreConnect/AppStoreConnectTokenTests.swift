import Foundation
import Testing

@testable import AppStore

@Suite struct AppStoreConnectTokenTests {
    private let time = TestPace()

    private func makeToken(
        for scope: AppStoreConnectToken.Scope = .app(bundleID: "com.example.game")
    ) async throws -> AppStoreConnectToken {
        let key = try await TestChain.shared.value.key
        return AppStoreConnectToken(
            AppStoreConnectCredentials(issuerID: "57246542-96fe", keyID: "2X9R4HXF34", key: key), for: scope,
            date: time.pace.date)
    }

    private func json(_ part: some DataProtocol) throws -> [String: String] {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(part)) as? [String: Any])
        return object.mapValues { "\($0)" }
    }

    @Test func saysWhoAsksForWhichApp() async throws {
        let token = try await makeToken().current()
        let jws = try CompactJWS(token.utf8, limit: 10_000)
        #expect(try json(jws.decodedHeader()) == ["alg": "ES256", "kid": "2X9R4HXF34", "typ": "JWT"])
        let claims = try json(jws.payload())
        #expect(
            claims == [
                "iss": "57246542-96fe", "iat": "1795229880", "exp": "1795233000", "aud": "appstoreconnect-v1",
                "bid": "com.example.game",
            ])
        #expect(AppStoreConnectToken.Scope.app(bundleID: "").lifetime + 120 < 60 * 60)
    }

    @Test func ofATeamNamesNoAppAndLivesForLessThanTwentyMinutes() async throws {
        let jws = try CompactJWS(try await makeToken(for: .team).current().utf8, limit: 10_000)
        #expect(
            try json(jws.payload()) == [
                "iss": "57246542-96fe", "iat": "1795229880", "exp": "1795230900", "aud": "appstoreconnect-v1",
            ])
    }

    @Test func isSignedByTheKey() async throws {
        let jws = try CompactJWS(try await makeToken().current().utf8, limit: 10_000)
        let chain = try await TestChain.shared.value
        let der = try #require(Data(base64Encoded: TestChain.base64(chain.leaf)))
        let leaf = try Certificate(der: Array(der))
        let key = try #require(leaf.publicKey)
        let signature = try jws.signature()
        #expect(jws.withSigningInput { ES256.isValid(signature, over: $0, key: key) })
    }

    @Test func isKeptUntilItNearlyEnds() async throws {
        let token = try await makeToken()
        let first = try token.current()
        time.advance(by: 40 * 60 - 1)
        #expect(try token.current() == first)
        time.advance(by: 1)
        let second = try token.current()
        #expect(second != first)
        #expect(try json(CompactJWS(second.utf8, limit: 10_000).payload())["iat"] == "1795232280")
    }

    @Test func isMadeAnewWhenTheClockWasSetBack() async throws {
        let token = try await makeToken()
        let first = try token.current()
        time.advance(by: -3600)
        #expect(try token.current() != first)
    }

    @Test func isDiscardedOnceItIsNotFresh() async throws {
        let token = try await makeToken()
        let first = try token.current()
        time.advance(by: 59)
        #expect(!token.discard(first))
        #expect(try token.current() == first)
        time.advance(by: 1)
        #expect(token.discard(first))
        let second = try token.current()
        #expect(second != first)
        // Somebody else has discarded it already: the new one is worth a try.
        #expect(token.discard(first))
        #expect(try token.current() == second)
    }
}
