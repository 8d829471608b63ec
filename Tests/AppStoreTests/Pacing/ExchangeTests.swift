import Foundation
import HTTP
import Testing

@testable import AppStore

/// What an answer tells of the server's health: how one request is taken says nothing of the others.
@Suite struct ExchangeTests {
    private func health(_ status: Int, _ body: String = "") -> CircuitBreaker.Sign {
        let response = HTTPResponse(status: status, body: Data(body.utf8))
        return Exchange<VerifyReceiptVerdict>(response, from: .production, hasSecret: true, now: Date()).health
    }

    @Test(arguments: [400, 411, 413, 414, 415, 422, 431])
    func aServerThatRefusesOneRequestIsUp(status: Int) {
        #expect(health(status, "<html>") == .up)
    }

    @Test(arguments: [401, 403, 404, 407, 429])
    func aServerThatLetsNobodyInIsBusy(status: Int) {
        #expect(health(status) == .busy)
    }

    @Test(arguments: [301, 408, 500, 502, 503, 504])
    func aServerThatGivesNoAnswerIsDown(status: Int) {
        #expect(health(status) == .down)
    }

    /// Whom it trusts is a setting of the machine's, or of the section [apple]: no app's key is at fault.
    @Test func whoIsNotTrustedIsSaidWithWhatToDo() throws {
        let exchange = try Exchange<VerifyReceiptVerdict>(HTTPError.tls("a:443: certificate has expired"))
        #expect(exchange.health == .down)
        guard case .settled(.needsConfiguration(let text)) = exchange.verdict else {
            Issue.record("\(exchange.verdict)")
            return
        }
        for word in ["TLS: a:443: certificate has expired; ", "clock", "certificate_authorities in [apple]"] {
            #expect(text.contains(word), "\(text)")
        }
    }

    @Test func whoAnswersWithAStatusIsUp() {
        #expect(health(200, #"{"status":0}"#) == .up)
        #expect(health(200, #"{"status":21006}"#) == .up)
        #expect(health(200, #"{"status":"odd"}"#) == .down)
        #expect(health(200, "<html>") == .down)
    }
}
