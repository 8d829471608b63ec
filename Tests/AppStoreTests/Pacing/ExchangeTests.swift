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

    /// These two ask for the same request again; what else is refused is refused again, and need not be asked tonight.
    @Test(arguments: [(408, true), (425, true), (301, false), (400, false), (404, false), (413, false), (500, true)])
    func asksAgainTonightWhereThatMayHelp(status: Int, isWorthIt: Bool) throws {
        let exchange = Exchange<VerifyReceiptVerdict>(
            HTTPResponse(status: status, body: Data()), from: .production, hasSecret: true, now: Date())
        let failure = try #require(exchange.verdict.failure)
        #expect(failure.why == .http(status) && failure.worthRetrying == isWorthIt)
    }

    /// An answer that is too large is one receipt's, and a setting that is wrong is no trouble of Apple's that passes.
    @Test(
        arguments: [
            (.timedOut(host: "h", afterSeconds: 30), .failed, .down, true),
            (.couldNotConnect(host: "h", reason: "refused"), .other, .down, true),
            (.couldNotResolve(host: "h"), .other, .down, true), (.connectionLost("h"), .other, .down, true),
            (.responseTooLarge(limit: 1), .other, .busy, false), (.tls("expired"), .other, .down, nil),
            (.invalidURL("h"), .other, .down, nil), (.invalidRequest("header"), .other, .down, nil),
        ] as [(HTTPError, AdaptiveLimit.Sign, CircuitBreaker.Sign, Bool?)])
    func aRequestWithoutAResponseTells(
        error: HTTPError, load: AdaptiveLimit.Sign, health: CircuitBreaker.Sign, isWorthRetrying: Bool?
    ) throws {
        let exchange = try Exchange<VerifyReceiptVerdict>(error)
        #expect(exchange.load == load && exchange.health == health)
        #expect(exchange.verdict.failure?.worthRetrying == isWorthRetrying)
        if isWorthRetrying == nil {
            guard case .settled(.needsConfiguration(let text)) = exchange.verdict else {
                Issue.record("\(exchange.verdict)")
                return
            }
            #expect(text.hasPrefix("\(error)"))
        }
        #expect(throws: CancellationError.self) { try Exchange<VerifyReceiptVerdict>(.cancelled) }
    }

    @Test func whoAnswersWithAStatusIsUp() {
        #expect(health(200, #"{"status":0}"#) == .up)
        #expect(health(200, #"{"status":21006}"#) == .up)
        #expect(health(200, #"{"status":"odd"}"#) == .down)
        #expect(health(200, "<html>") == .down)
    }
}
