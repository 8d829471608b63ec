import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct TransactionInfoTests {
    private let time = TestPace()

    private func expect(
        _ expected: ServerAPIOutcome<SignedTransaction>, on stage: ServerAPIStage,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await stage.client.transactionInfo("42")
        #expect(outcome == expected, sourceLocation: sourceLocation)
    }

    @Test func findsAndVerifies() async throws {
        try await ServerAPIStage.with(script: { chain in
            let jws = try chain.sign(TestPayload.transaction("42", environment: "Production"))
            return { _, _ in .transaction(jws) }
        }) { stage in
            let transaction = try await stage.client.transactionInfo("42").value
            #expect(transaction?.transactionID == "42")
            let request = try #require(stage.server.received.first)
            #expect(request.method == "GET")
            #expect(request.path == "production/inApps/v1/transactions/42")
            let token = try #require(request.authorization)
            #expect(token.hasPrefix("Bearer ey") && token.split(separator: ".").count == 3)
            #expect(stage.server.received.count == 1)
            #expect(stage.client.statistics(of: .production).requests == 1)
        }
    }

    @Test func asksSandboxWhatProductionDoesNotKnow() async throws {
        try await ServerAPIStage.with(script: { chain in
            let jws = try chain.sign(TestPayload.transaction("42"))
            return { request, _ in request.isProduction ? .apiError(4_040_010) : .transaction(jws) }
        }) { stage in
            let answer = try await stage.client.transactionInfo("42").value?.environment
            #expect(answer == "Sandbox")
            let path = "inApps/v1/transactions/42"
            #expect(stage.asked == ["production/\(path)", "sandbox/\(path)"])
        }
    }

    /// Production answers 401 for an app that was never released there.
    @Test func asksSandboxAboutAnAppThatWasNeverReleased() async throws {
        try await ServerAPIStage.with(script: { chain in
            let jws = try chain.sign(TestPayload.transaction("42"))
            return { request, _ in request.isProduction ? .unauthorized : .transaction(jws) }
        }) { stage in
            let answer = try await stage.client.transactionInfo("42").value?.transactionID
            #expect(answer == "42")
            #expect(stage.asked.count == 3)
        }
    }

    @Test func asksOnlyTheEnvironmentThatIsNamed() async throws {
        try await ServerAPIStage.with(reply: .apiError(4_040_010)) { stage in
            for environment in ServerEnvironment.allCases {
                let outcome = try await stage.client.transactionInfo("42", in: environment)
                #expect(outcome == .notFound(.transactionID))
            }
            #expect(
                stage.asked == ["production/inApps/v1/transactions/42", "sandbox/inApps/v1/transactions/42"])
        }
    }

    @Test(arguments: [4_000_006, 4_040_001, 4_040_005, 4_040_010])
    func takesApplesWordThatThereIsNone(code: Int) async throws {
        try await ServerAPIStage.with(time, reply: .apiError(code)) { stage in
            try await expect(.notFound(try #require(ServerAPIAbsence(rawValue: code))), on: stage)
            #expect(stage.server.received.count == ([4_040_005, 4_040_010].contains(code) ? 2 : 1))
            #expect(time.sleeps.isEmpty)
        }
    }

    @Test func readsAnErrorCodeThatIsText() async throws {
        let reply = ScriptedServer.Reply.http(404, body: #"{"errorCode":"4040001","errorMessage":"Apple's words."}"#)
        try await ServerAPIStage.with(time, reply: reply) { stage in
            try await expect(.notFound(.account), on: stage)
        }
    }

    /// The bundle id or the key's team is wrong: no receipt's fault, and nothing that another night mends.
    @Test func namesTheAppThatAppleDoesNotKnow() async throws {
        try await ServerAPIStage.with(reply: .apiError(4_040_003)) { stage in
            guard case .needsConfiguration(let what) = try await stage.client.transactionInfo("42") else {
                Issue.record("it counts as Apple's word on the transaction")
                return
            }
            #expect(what.contains("4040003") && what.contains("com.example.game"), "\(what)")
            #expect(stage.server.received.count == 2)
        }
    }

    @Test(arguments: [4_040_002, 4_040_004, 4_040_006, 5_000_001])
    func triesAgainWhereAppleSaysSo(code: Int) async throws {
        try await ServerAPIStage.with(time, reply: .apiError(code)) { stage in
            try await expect(.tryAgain(.busy(status: code, exception: "Apple's words.")), on: stage)
            #expect(stage.server.received.count == 4)
            #expect(time.sleeps == [0.25, 0.5, 1])
        }
    }

    @Test(arguments: [
        (5_000_000, TryAgain.busy(status: 5_000_000, exception: "Apple's words.")),
        (4_000_000, .unknownStatus(4_000_000, exception: "Apple's words.")),
        (4_040_099, .unknownStatus(4_040_099, exception: "Apple's words.")),
    ])
    func leavesForAnotherNightWhatWillNotPassTonight(code: Int, why: TryAgain) async throws {
        try await ServerAPIStage.with(time, reply: .apiError(code)) { stage in
            try await expect(.tryAgain(why), on: stage)
            #expect(stage.server.received.count == 1)
        }
    }

    @Test(arguments: [
        ScriptedServer.Reply.http(503), .http(500, body: "<html>"), .http(429), .cut, .apiError(5_000_001),
        .apiError(4_290_000), .apiError(4_040_006),
    ])
    func asksAgainUntilThereIsAnAnswer(reply: ScriptedServer.Reply) async throws {
        try await ServerAPIStage.with(
            time, script: { _ in { _, earlier in earlier < 2 ? reply : .apiError(4_000_006) } }
        ) { stage in
            try await expect(.notFound(.invalidTransactionID), on: stage)
            #expect(time.sleeps == [0.25, 0.5])
            #expect(stage.client.statistics(of: .production).retries == 2)
        }
    }

    @Test(arguments: [("1795230003000", 3.0), ("1795230060000", 60)])
    func waitsUntilTheMomentThatAppleNames(retryAfter: String, seconds: Double) async throws {
        let limited = ScriptedServer.Reply.http(
            429, headers: ["Retry-After": retryAfter], body: #"{"errorCode":4290000,"errorMessage":"Rate limit."}"#)
        try await ServerAPIStage.with(
            time, script: { _ in { _, earlier in earlier == 0 ? limited : .apiError(4_000_006) } }
        ) { stage in
            try await expect(.notFound(.invalidTransactionID), on: stage)
            #expect(time.sleeps == [seconds + 0.25])
            #expect(stage.client.statistics(of: .production).tooManyRequests == 1)
            #expect(stage.client.statistics(of: .production).concurrencyLimit == 4)
        }
    }

    /// Limits count by the hour as well.
    @Test func doesNotWaitUntilTheNextHour() async throws {
        try await ServerAPIStage.with(time, reply: .http(429, headers: ["Retry-After": "1795233600000"])) { stage in
            try await expect(.tryAgain(.waitTooLong(http: 429, seconds: 3600)), on: stage)
            #expect(stage.server.received.count == 1)
        }
    }

    @Test func namesWhatMayBeWrongWithTheKey() async throws {
        try await ServerAPIStage.with(reply: .unauthorized) { stage in
            guard case .needsConfiguration(let text) = try await stage.client.transactionInfo("42") else {
                return #expect(Bool(false))
            }
            for word in ["2X9R4HXF34", "com.example.game", "issuer id", "clock"] { #expect(text.contains(word)) }
            #expect(!text.contains("eyJ"))
            #expect(stage.asked.count == 2)
        }
    }

    @Test func believesProductionThatTheKeyIsRight() async throws {
        try await ServerAPIStage.with(script: { _ in
            { request, _ in request.isProduction ? .apiError(4_040_010) : .unauthorized }
        }) { try await expect(.notFound(.transactionID), on: $0) }
    }

    /// Production refuses a good key for a moment, and every key of an app that was never released.
    @Test("Sandbox's word that there is no such id is not production's", arguments: [1, 2])
    func asksProductionAgainWhetherItRefuses(refusals: Int) async throws {
        try await ServerAPIStage.with(
            settings: { $0.retries.attempts = 1 },
            script: { _ in
                { request, earlier in
                    if !request.isProduction { return .apiError(4_040_010) }
                    return earlier < 2 * refusals - 1 ? .unauthorized : .http(503)
                }
            }
        ) { stage in
            try await expect(refusals == 1 ? .tryAgain(.http(503)) : .notFound(.transactionID), on: stage)
        }
    }

    @Test("Sandbox's purchase of the same number is not production's")
    func asksProductionAgainWhereSandboxKnowsTheNumber() async throws {
        try await ServerAPIStage.with(script: { chain in
            let own = try chain.sign(TestPayload.transaction("42", environment: "Production"))
            let tested = try chain.sign(TestPayload.transaction("42"))
            return { request, earlier in
                if !request.isProduction { return .transaction(tested) }
                return earlier == 0 ? .unauthorized : .transaction(own)
            }
        }) { stage in
            let answer = try await stage.client.transactionInfo("42").value?.environment
            #expect(answer == "Production")
        }
    }

    @Test func doesNotTakeSandboxBeingDownForAnAnswer() async throws {
        try await ServerAPIStage.with(
            time, settings: { $0.circuit.unanswered = 1 },
            script: { _ in { request, _ in request.isProduction ? .apiError(4_040_010) : .http(503) } }
        ) { stage in
            try await expect(.tryAgain(.http(503)), on: stage)
            try await expect(.tryAgain(.sandboxDown), on: stage)
            #expect(!stage.client.isCircuitOpen)
        }
    }

    @Test func asksNothingMoreOfAServerThatIsDown() async throws {
        try await ServerAPIStage.with(
            time,
            settings: {
                $0.circuit.unanswered = 3
                $0.retries.attempts = 1
            }, script: { _ in { _, _ in .http(503) } }
        ) { stage in
            for _ in 0..<3 { try await expect(.tryAgain(.http(503)), on: stage) }
            #expect(stage.client.isCircuitOpen)
            try await expect(.notTried, on: stage)
            let paths = [42, 1].map { "production/inApps/v1/transactions/\($0)" }
            #expect(stage.server.received.map(\.path).suffix(2) == paths)
            #expect(stage.server.received.count == 4)
        }
    }

    @Test func renewsATokenThatGrewOld() async throws {
        try await ServerAPIStage.with(time, reply: .apiError(4_000_006)) { stage in
            for minutes in [0.0, 39, 2] {
                time.advance(by: minutes * 60)
                _ = try await stage.client.transactionInfo("42")
            }
            let tokens = stage.server.received.map(\.authorization)
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2])
        }
    }

    @Test func asksOnceMoreWithANewTokenWhereTheOldIsRefused() async throws {
        try await ServerAPIStage.with(
            time,
            script: { _ in
                { _, earlier in earlier == 1 ? .unauthorized : .apiError(4_000_006) }
            }
        ) { stage in
            try await expect(.notFound(.invalidTransactionID), on: stage)
            time.advance(by: 120)
            try await expect(.notFound(.invalidTransactionID), on: stage)
            let tokens = stage.server.received.map(\.authorization)
            #expect(tokens.count == 3)
            #expect(tokens[0] == tokens[1] && tokens[1] != tokens[2])
        }
    }

    @Test func refusesWhatIsNotSignedAsItMustBe() async throws {
        let foreign = try await TestChain.make()
        let chain = try await TestChain.shared.value
        let wrong: [(jws: String, error: JWSError)] = [
            (
                try chain.sign(TestPayload.transaction(bundleID: "com.example.other", environment: "Production")),
                .bundleID(found: "com.example.other", expected: TestPayload.bundleID)
            ),
            // Production can't know of a sandbox transaction, nor Apple of one that Xcode made.
            (try chain.sign(TestPayload.transaction()), .environment(found: "Sandbox")),
            (try chain.sign(TestPayload.transaction(environment: "Xcode")), .notSignedByApple(.xcode)),
            (
                try foreign.sign(TestPayload.transaction(environment: "Production"), header: chain.header()),
                .wrongSignature
            ),
        ]
        for (jws, error) in wrong {
            try await ServerAPIStage.with(reply: .transaction(jws)) { stage in
                try await expect(
                    .unverified(UnverifiedPayload(place: "signedTransactionInfo", error: error)), on: stage)
            }
        }
    }

    @Test(arguments: ["<html>", "{}", "", #"{"signedTransactionInfo":7}"#])
    func doesNotTakeAnythingElseForAnAnswer(body: String) async throws {
        try await ServerAPIStage.with(reply: .json(body)) { stage in
            try await expect(.tryAgain(.unreadable("it is not the JSON that Apple documents")), on: stage)
        }
    }

    @Test(arguments: ["", "..", "4/2", "4%2F2", "4 2", "4?2", "４２", String(repeating: "1", count: 65)])
    func neverSendsWhatCannotBeAnId(id: String) async throws {
        try await ServerAPIStage.with(reply: .apiError(4_040_010)) { stage in
            let answer = try await stage.client.transactionInfo(id)
            #expect(answer == .notFound(.invalidTransactionID))
            #expect(stage.server.received.isEmpty)
        }
    }

    @Test func endsAtOnceWhenItIsCancelled() async throws {
        try await ServerAPIStage.with(reply: .silence) { stage in
            let asking = Task { [client = stage.client] in try await client.transactionInfo("42") }
            try await waitUntil("Apple was asked") { !stage.server.received.isEmpty }
            asking.cancel()
            await #expect(throws: CancellationError.self) { _ = try await asking.value }
        }
    }
}
