import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import Notifications

@Suite struct PingTests {
    @Test func startSuccessAndFailureAreAskedEachInItsTurn() async throws {
        try await TestServer.with({ _, connection in connection.respond() }) { server in
            let telling = telling(server.url)
            let told = [
                await telling.begin(), await telling.end(News.complete()), await telling.end(News.failed(.tryLater)),
            ]
            #expect(told == [[NotificationResult(.ping)], [NotificationResult(.ping)], [NotificationResult(.ping)]])
            #expect(server.log.map(\.path) == ["/start", "/u/0", "/u/75"])
            #expect(
                server.log.map { String(decoding: $0.body, as: UTF8.self) } == [
                    "run begins\n", "run 42 ended with exit code 0\n", "run ended with exit code 75\n",
                ])
        }
    }

    @Test func theRunWaitsForTheStartOnlyOnce() async throws {
        try await TestServer.with({ _, connection in connection.staySilent() }) { server in
            let told = await telling(server.url, timeout: 0.1).begin()
            #expect(told.first?.failure?.contains("no complete answer") == true)
            #expect(server.received.count == 1)
        }
    }

    @Test func whatHasNoAddressIsNotAsked() async throws {
        let telling = Notifier(
            NotificationSettings(ping: PingSettings(failure: "http://127.0.0.1:1/")), programVersion: "1",
            dependencies: .hurried())
        #expect(await telling.begin() == [])
        #expect(await telling.end(News.complete()) == [])
    }

    private func telling(_ url: String, timeout: TimeInterval = 5) -> Notifier {
        Notifier(
            NotificationSettings(
                ping: PingSettings(
                    start: url + "/start", success: url + "/u/{code}", failure: url + "/u/{code}", timeout: timeout)),
            programVersion: "1", dependencies: .hurried())
    }
}
