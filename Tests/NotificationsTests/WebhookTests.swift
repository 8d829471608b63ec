import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Notifications

@Suite struct WebhookTests {
    @Test func itCarriesTheRunsFiguresAndNobodysPurchases() async throws {
        let report = WrittenReport(
            folder: "/srv/reports/2026-09-21-run-42", url: "https://r.example/index.html", summary: "user-7 anna")
        let request = try #require(
            try await received(News.uneven(report: report), { _, connection in connection.respond(204) }).first)
        #expect(request.method == "POST" && request.path == "/hook?for=nights")
        #expect(request.header("Content-Type") == "application/json")
        #expect(
            String(decoding: request.body, as: UTF8.self) == """
                {"alerts":[],"figures":{"by_likelihood":{"high":12,"low":10,"medium":8},"cases":30,"closed":{"delivered":4},\
                "money":{"JPY":230000,"USD":45980},"new":2,"oldest_purchase":"2026-09-20T13:13:20.000Z","pending":7,\
                "redeliveries":{"delivered":14,"failing":16,"open":15,"ordered":13},"reopened":1,"unpriced":9},\
                "report":{"folder":"/srv/reports/2026-09-21-run-42",\
                "url":"https://r.example/index.html"},"run":{"exit_code":0,"finished_at":"2026-09-21T14:13:32.500Z",\
                "host":"night-1","now":"2026-09-21T14:13:20.000Z","outcome":"complete","program_version":"0.1.0",\
                "receipts":{"due":40,"left":11,"try_again":6,"unusable":5,"verified":18},"run_id":42,\
                "started_at":"2026-09-21T14:13:20.000Z","time_zone":"Asia/Shanghai","trail_end":"3044f3e1522a"},\
                "schema_version":1}
                """)
    }

    @Test func aFigureThatHasReachedItsThresholdIsNamed() async throws {
        let requests = try await received(News.alarming(), { _, connection in connection.respond() })
        let body = String(decoding: try #require(requests.first).body, as: UTF8.self)
        #expect(
            body.hasPrefix(
                """
                {"alerts":[{"alert":"money_lost","bundle_id":"com.example.game","text":"com.example.game: 45.98 USD was \
                paid for the open cases (told from 20.00 USD on)"}],
                """), "\(body)")
    }

    @Test func aRunThatFailedSaysWhy() async throws {
        let requests = try await received(News.failed(), { _, connection in connection.respond() })
        let body = String(decoding: try #require(requests.first).body, as: UTF8.self)
        #expect(body.contains(#""exit_code":69"#) && body.contains(#""outcome":"failed""#))
        #expect(body.contains("The database can't be reached.") && !body.contains("figures"))
    }

    @Test func aReceiverChecksTheSignatureAsTheDocumentsShow() async throws {
        let request = try #require(
            try await received(News.complete(), { _, connection in connection.respond() }).first)
        let document = try String(contentsOf: PackageRoot.folder.appending(path: "docs/operate.md"), encoding: .utf8)
        let example = try #require(document.firstMatch(of: /```python\n(?<code>(?s).*?is_genuine.*?)```/)?.code)
        func verdict(_ body: Data) async throws -> String {
            let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"].map {
                ($0, request.header($0) ?? "")
            }
            let json = try JSONEncoder().encode(Dictionary(uniqueKeysWithValues: headers))
            return try await ChildProcess.runSuccessfully(
                "/usr/bin/python3",
                [
                    "-c",
                    example + """
                        import sys
                        time.time = lambda: \(Int(News.now.timeIntervalSince1970)) + 60
                        import json
                        print(is_genuine(json.loads(sys.argv[1]), sys.stdin.buffer.read(), sys.argv[2]))
                        """, String(decoding: json, as: UTF8.self), WebhookSettings.secret,
                ], input: String(decoding: body, as: UTF8.self))
        }
        #expect(try await verdict(request.body) == "True\n")
        #expect(try await verdict(request.body + Data(" ".utf8)) == "False\n")
    }

    @Test func aServerThatFailsIsTriedAgainWithTheSameIDAfterLongerPauses() async throws {
        let pauses = Pauses()
        let answers: [(Int, [String])] = [(500, []), (503, []), (429, ["Retry-After: 7"]), (200, [])]
        let next = Mutex(0)
        let requests = try await received(
            News.complete(),
            { _, connection in
                let answer = next.withLock { next in
                    defer { next += 1 }
                    return answers[next]
                }
                return connection.respond(answer.0, headers: answer.1)
            }, pauses: pauses)
        #expect(requests.count == 4)
        #expect(Set(requests.map { $0.header("webhook-id") }) == ["msg_0f4c0a7e-made-up"])
        #expect(pauses.all == [.seconds(1), .seconds(2), .seconds(7)])
    }

    @Test func aServerThatAsksForPatienceHoldsUpNoEnd() async throws {
        let pauses = Pauses()
        let told = try await told(attempts: 9, pauses: pauses) { _, connection in
            connection.respond(503, headers: ["Retry-After: 40"])
        }
        #expect(told.failure == "127.0.0.1 answers with status 503, after 2 tries")
        #expect(pauses.all == [.seconds(40)])
    }

    @Test func aServerThatTakesItAndTalksOnHasTakenIt() async throws {
        let told = try await told { _, connection in
            connection.respond(200, body: Data(repeating: UInt8(ascii: "x"), count: 3 << 20))
        }
        #expect(told.failure == nil)
    }

    @Test func aServerThatRefusesIsNotAskedAgain() async throws {
        for status in [302, 400, 404, 410] {
            let told = try await told { _, connection in connection.respond(status) }
            #expect(told.failure == "127.0.0.1 answers with status \(status)")
        }
    }

    @Test func whatGoesOnFailingIsGivenUpInTheEnd() async throws {
        let told = try await told(attempts: 3) { _, connection in connection.respond(500) }
        #expect(told.failure == "127.0.0.1 answers with status 500, after 3 tries")
    }

    @Test func aServerThatNeverAnswersTakesNoLongerThanItsTime() async throws {
        let told = try await told(attempts: 2, timeout: 0.1) { _, connection in connection.staySilent() }
        #expect(told.failure?.hasSuffix("after 2 tries") == true)
        #expect(told.failure?.contains("no complete answer from 127.0.0.1") == true)
    }

    @Test func nobodyListensAndTheAddressStaysSecret() async throws {
        let port = try FreePort.find()
        let settings = WebhookSettings.testing("http://127.0.0.1:\(port)/T0KEN?key=T0KEN", attempts: 1)
        let told = await Notifier(.init(webhook: settings), programVersion: "1", dependencies: .hurried())
            .end(News.complete())
        #expect(told.map(\.way) == [.webhook])
        #expect(told.first?.failure?.contains("no connection") == true)
        #expect(!"\(told)".contains("T0KEN"))
    }

    @Test func pausesGrowButNeverBeyondAMinute() {
        #expect((1...7).map { Post.pause(after: $0, asked: nil) } == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
        #expect(Post.pause(after: 1, asked: 86_400) == .seconds(60))
        #expect(Post.pause(after: 3, asked: -5) == .seconds(4))
    }

    private func received(
        _ news: RunNews, _ answer: @escaping TestServer.Answer, pauses: Pauses = Pauses()
    ) async throws -> [ReceivedRequest] {
        try await TestServer.with(answer) { server in
            let settings = NotificationSettings(webhook: .testing(server.url + "/hook?for=nights"))
            let told = await Notifier(settings, programVersion: "1", dependencies: .hurried(pauses)).end(news)
            #expect(told == [NotificationResult(.webhook)])
            return server.log
        }
    }

    private func told(
        attempts: Int = 5, timeout: TimeInterval = 10, pauses: Pauses = Pauses(), _ answer: @escaping TestServer.Answer
    ) async throws -> NotificationResult {
        try await TestServer.with(answer) { server in
            let settings = NotificationSettings(webhook: .testing(server.url, attempts: attempts, timeout: timeout))
            let told = await Notifier(settings, programVersion: "1", dependencies: .hurried(pauses)).end(
                News.complete())
            return try #require(told.first)
        }
    }
}
