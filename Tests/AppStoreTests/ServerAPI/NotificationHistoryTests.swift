import Foundation
import Testing

@testable import AppStore

@Suite struct NotificationHistoryTests {
    private let query = NotificationQuery(
        start: Date(timeIntervalSince1970: 0), end: Date(timeIntervalSince1970: 1))

    /// A page of Get Notification History.
    private static func page(_ items: [String]) -> ScriptedServer.Reply {
        .json(#"{"hasMore":false,"notificationHistory":[\#(items.joined(separator: ","))]}"#)
    }

    private static func item(_ signed: String) -> String { #"{"signedPayload":"\#(signed)"}"# }

    @Test func readsNotificationsPageByPage() async throws {
        try await ServerAPIStage.with(script: { chain in
            let signed = try chain.sign(TestPayload.notification())
            return { request, _ in
                let isFirst = !request.path.contains("paginationToken")
                return .json(
                    """
                    {"hasMore":\(isFirst),"paginationToken":"t=/1","notificationHistory":[{"signedPayload":"\(signed)",
                    "sendAttempts":[{"attemptDate":1700000000000,"sendAttemptResult":"TIMED_OUT"}]}]}
                    """)
            }
        }) { stage in
            var query = NotificationQuery(
                start: Date(timeIntervalSince1970: 1_700_000_000), end: Date(timeIntervalSince1970: 1_700_086_400))
            query.type = "ONE_TIME_CHARGE"
            query.onlyFailures = true
            let pages = try await outcomes(stage.client.notificationHistory(query, in: .sandbox))
            let entries = pages.flatMap { $0.value?.entries ?? [] }
            #expect(entries.map(\.notification.type) == ["ONE_TIME_CHARGE", "ONE_TIME_CHARGE"])
            #expect(entries.first?.attempts.map(\.result) == ["TIMED_OUT"])
            #expect(entries.first?.attempts.first?.date == Date(timeIntervalSince1970: 1_700_000_000))
            let requests = stage.server.received
            #expect(
                requests.map(\.path) == [
                    "sandbox/inApps/v1/notifications/history",
                    "sandbox/inApps/v1/notifications/history?paginationToken=t%3D%2F1",
                ])
            #expect(requests.map(\.method) == ["POST", "POST"])
            #expect(requests.map(\.contentType) == ["application/json", "application/json"])
            #expect(requests.map { $0.field("startDate") } == ["1700000000000", "1700000000000"])
            #expect(requests.map { $0.field("endDate") } == ["1700086400000", "1700086400000"])
            #expect(requests.map { $0.field("notificationType") } == ["ONE_TIME_CHARGE", "ONE_TIME_CHARGE"])
            #expect(requests.map { $0.field("transactionId") } == [nil, nil])
        }
    }

    /// As an app's server would upload it: where nobody knows the purchase, it is handed in as a proof.
    @Test func keepsTheSignedTransactionAsItWasSent() async throws {
        let chain = try await TestChain.shared.value
        let transaction = try chain.sign(TestPayload.transaction("42"))
        let carried = #","signedTransactionInfo":"\#(transaction)""#
        let items = [
            Self.item(try chain.sign(TestPayload.notification(further: carried))),
            Self.item(try chain.sign(TestPayload.notification())),
        ]
        try await ServerAPIStage.with(reply: Self.page(items)) { stage in
            let page = try #require(try await stage.client.notificationPage(query, in: .sandbox).value)
            #expect(page.entries.map(\.notification.signedTransaction) == [transaction, nil])
            #expect(page.entries.map(\.notification.transaction?.transactionID) == ["42", nil])
            let verifier = JWSVerifier(roots: try chain.roots)
            #expect(try verifier.transaction(transaction, expecting: .anything).transactionID == "42")
        }
    }

    @Test func tellsWhatOfAPageIsNotAcceptableAndTakesTheRest() async throws {
        let (chain, foreign) = (try await TestChain.shared.value, try await TestChain.make())
        let notification = TestPayload.notification()
        let elsewhere = try chain.sign(TestPayload.transaction(environment: "Production"))
        let wrong = #","signedTransactionInfo":"\#(elsewhere)""#
        let items = [
            Self.item(try chain.sign(notification)),
            Self.item(try foreign.sign(notification, header: chain.header())),
            Self.item(try chain.sign(TestPayload.notification(bundleID: "com.example.other"))),
            Self.item(try chain.sign(TestPayload.notification(environment: "Production"))),
            Self.item(try chain.sign(TestPayload.notification(further: wrong))),
            "{}", "7", #"{"signedPayload":7,"sendAttempts":{}}"#, "null",
            #"{"signedPayload":"\#(try chain.sign(notification))","sendAttempts":[7,{"attemptDate":"soon"}]}"#,
        ]
        try await ServerAPIStage.with(reply: Self.page(items)) { stage in
            let page = try #require(try await stage.client.notificationPage(query, in: .sandbox).value)
            #expect(page.entries.map(\.notification.uuid) == ["u-1", "u-1"])
            #expect(page.entries.map(\.attempts) == [[], []])
            let empty = JWSError.notCompact("it is empty")
            let errors: [JWSError] = [
                .wrongSignature, .bundleID(found: "com.example.other", expected: TestPayload.bundleID),
                .environment(found: "Production"),
                .nested("signedTransactionInfo", .environment(found: "Production")), empty, empty, empty, empty,
            ]
            #expect(page.unverified.map(\.flaw.error) == errors)
            #expect(page.unverified.map(\.flaw.place) == (1...8).map { "notificationHistory[\($0)].signedPayload" })
        }
    }

    /// One that can't be read never keeps those of the pages behind from being heard.
    @Test func goesOnBehindAPageOfWhichNothingIsAcceptable() async throws {
        try await ServerAPIStage.with(script: { chain in
            let other = try chain.sign(TestPayload.notification(bundleID: "com.example.other"))
            let own = try chain.sign(TestPayload.notification())
            return { request, _ in
                let isFirst = !request.path.contains("paginationToken")
                return .json(
                    """
                    {"hasMore":\(isFirst),"paginationToken":"t","notificationHistory":[\(Self.item(isFirst ? other : own))]}
                    """)
            }
        }) { stage in
            let pages = try await outcomes(stage.client.notificationHistory(query, in: .sandbox)).compactMap(\.value)
            #expect(pages.map(\.entries.count) == [0, 1])
            let error = JWSError.bundleID(found: "com.example.other", expected: TestPayload.bundleID)
            let refused = UnverifiedPayload(place: "notificationHistory[0].signedPayload", error: error)
            #expect(pages.map { $0.unverified.map(\.flaw) } == [[refused], []])
        }
    }

    @Test(arguments: [4_000_006, 4_000_014, 4_000_017])
    func tellsARefusedPageTokenApart(code: Int) async throws {
        try await ServerAPIStage.with(script: { chain in
            let signed = try chain.sign(TestPayload.notification())
            return { request, _ in
                request.path.contains("paginationToken=old")
                    ? .apiError(code)
                    : .json(
                        #"{"hasMore":true,"paginationToken":"old","notificationHistory":[\#(Self.item(signed))]}"#)
            }
        }) { stage in
            let pages = try await outcomes(stage.client.notificationHistory(query, in: .sandbox))
            #expect(pages.count == 2)
            #expect(pages.last == .tryAgain(.pageTokenRefused(code: code)))
            // Not tried in vain again, and no sign that Apple is down.
            #expect(stage.asked.count == 2)
            #expect(TryAgain.pageTokenRefused(code: code).text.contains("(\(code))"))
            #expect(!TryAgain.pageTokenRefused(code: code).isTransport)
        }
    }

    /// The question is this program's: asking it again won't do better tonight.
    @Test(arguments: [
        (4_000_012, "too far in the past"), (4_000_013, "not before the end"), (4_000_015, "the start is no date"),
        (4_000_016, "the end is no date"), (4_000_018, "type"), (4_000_019, "exclude each other"),
    ])
    func namesWhatIsWrongWithTheQuestion(code: Int, words: String) async throws {
        try await ServerAPIStage.with(
            settings: { $0.circuit.failed = 1 }, script: { _ in { _, _ in .apiError(code) } }
        ) { stage in
            for _ in 0..<3 {
                guard case .tryAgain(let why) = try await stage.client.notificationPage(query, in: .production) else {
                    return #expect(Bool(false))
                }
                #expect(why.text.contains("\(code)") && why.text.contains(words))
                #expect(!why.isTransport)
            }
            #expect(stage.asked.count == 3)
            #expect(!stage.client.isCircuitOpen)
        }
    }

    /// Elsewhere the same code is about a transaction's id.
    @Test func takesTheCodeOfARefusedTokenForATransactionElsewhere() async throws {
        try await ServerAPIStage.with(reply: .apiError(4_000_006)) { stage in
            let answer = try await stage.client.transactionInfo("42")
            #expect(answer == .notFound(.invalidTransactionID))
        }
    }

    @Test(arguments: ["<html>", "{}", #"{"notificationHistory":[]}"#, #"{"hasMore":false,"notificationHistory":{}}"#])
    func doesNotTakeAnythingElseForAPage(body: String) async throws {
        try await ServerAPIStage.with(reply: .json(body)) { stage in
            let answer = try await stage.client.notificationPage(query, in: .production)
            #expect(answer == .tryAgain(.unreadable("it is not the JSON that Apple documents")))
        }
    }
}
