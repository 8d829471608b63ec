import Foundation
import Testing

@testable import AppStoreSimulator

@Suite struct AccessTests {
    private static let path = "/inApps/v1/transactions/370000000000001"

    private static let wrongTokens: [String: APIClient.Token] = {
        var tokens: [String: APIClient.Token] = [:]
        func add(_ name: String, _ change: (inout APIClient.Token) -> Void) {
            var token = APIClient.Token()
            change(&token)
            tokens[name] = token
        }
        add("another key") { $0.key = TestKeys.stranger.api.key }
        add("another key id") { $0.keyID = "SIMKEY2025" }
        add("another issuer") { $0.issuer = "69a6de7e-8b3c-47e3-a053-5b8c7c11a4d2" }
        add("another audience") { $0.audience = "appstoreconnect-v2" }
        add("an unknown app") { $0.bundleID = "com.example.unknown" }
        add("expired") { $0.issuedAt -= 3_000 }
        add("from the future") { $0.issuedAt += 86_400 }
        add("valid for too long") { $0.life = 3_601 }
        return tokens
    }()

    @Test(arguments: wrongTokens.keys.sorted())
    func answersAWrongTokenInPlainText(name: String) async throws {
        let token = try #require(Self.wrongTokens[name])
        let store = storeWithPurchases(2)
        let answer = try await withStore(store) {
            try await APIClient(base: $0.productionServerAPI, token: token.text).get(Self.path)
        }
        #expect(answer.status == 401)
        #expect(answer.headers["content-type"]?.hasPrefix("text/plain") == true)
        #expect(answer.json.isEmpty)
        #expect(store.counts.unauthenticated == 1)
    }

    @Test(arguments: [nil, "", "x", "a.b.c"]) func wantsAToken(token: String?) async throws {
        let answer = try await withStore(storeWithPurchases(2)) {
            try await APIClient(base: $0.productionServerAPI, token: token).get(Self.path)
        }
        #expect(answer.status == 401)
    }

    @Test func onlyTheSandboxKnowsAnAppThatWasNeverReleased() async throws {
        let store = storeWithPurchases(2)
        store.update {
            $0.add(SimulatedApp(bundleID: "com.example.game", adamID: 1, isReleased: false))
            $0.add(purchase(1, of: 2, in: .sandbox))
        }
        try await withStore(store) { addresses async throws -> Void in
            #expect(try await APIClient(base: addresses.productionServerAPI).get(Self.path).status == 401)
            #expect(try await APIClient(base: addresses.sandboxServerAPI).get(Self.path).status == 200)
        }
    }

    @Test func asksToWaitInUNIXMilliseconds() async throws {
        // One every thousand seconds: however slow the machine is, the second comes too early.
        let store = storeWithPurchases(2, rateLimits: try RateLimits(parsing: "transaction=0.001"))
        try await withStore(store) { addresses async throws -> Void in
            let client = APIClient(base: addresses.productionServerAPI)
            let began = Date().unixMilliseconds
            #expect(try await client.get(Self.path).status == 200)
            let limited = [try await client.get(Self.path), try await client.get(Self.path)]
            #expect(limited.allSatisfy { $0.status == 429 && $0.errorCode == 4_290_000 })
            #expect(store.counts.rateLimited == 2)
            let wait = try #require(limited.first?.headers["retry-after"].flatMap { Int64($0) })
            #expect((began...Date().unixMilliseconds + 1_000_000).contains(wait))
            // Another endpoint has a limit of its own, here none.
            #expect(try await client.get("/inApps/v2/history/370000000000001").status == 200)
        }
    }

    @Test func letsPassWhatTheLimitAllows() throws {
        let gate = RateGate(try RateLimits([.lookup: 10]))
        let production = RateGate.Line(bundleID: "a", endpoint: .lookup, environment: .production)
        let sandbox = RateGate.Line(bundleID: "a", endpoint: .lookup, environment: .sandbox)
        var passed = 0
        for step in 0..<300 where gate.pass(production, at: testNow.addingTimeInterval(Double(step) / 100)) == nil {
            passed += 1
        }
        #expect((38...40).contains(passed))
        #expect(gate.pass(sandbox, at: testNow) == nil)
        #expect(gate.pass(sandbox, at: testNow) == testNow.addingTimeInterval(1))
        #expect(gate.pass(sandbox, at: testNow.addingTimeInterval(1)) == nil)
    }

    @Test(arguments: ["history", "history=0", "history=-1", "tuesday=1", "history=x"])
    func refusesLimitsThatMakeNoSense(text: String) {
        #expect(throws: SimulatorError.self) { try RateLimits(parsing: text) }
    }

    @Test(
        arguments: [
            (Fault.http500, 500...504, nil), (.rateLimited, 429...429, 4_290_000), (.unavailable, 404...404, 4_040_000),
            (.internalError, 500...500, 5_000_001), (.html, 200...200, nil), (.truncated, 200...200, nil),
        ] as [(Fault, ClosedRange<Int>, Int?)])
    func failsInItsOwnWords(fault: Fault, statuses: ClosedRange<Int>, code: Int?) async throws {
        let store = storeWithPurchases(2, faults: try Faults([fault: 1]))
        let answer = try await withStore(store) {
            try await APIClient(base: $0.productionServerAPI).get(Self.path)
        }
        #expect(statuses.contains(answer.status))
        // 4040002, 4040004 and 4040006 ask to try again.
        #expect(answer.errorCode.map { fault == .unavailable ? $0 / 10 * 10 : $0 } == code)
        #expect(store.counts.byFault == [fault: 1])
    }
}
