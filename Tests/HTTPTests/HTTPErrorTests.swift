import HTTP
import Testing

@Suite("Failures as others see them")
struct HTTPErrorTests {
    private static let every: [(error: HTTPError, text: String, isRetryable: Bool)] = [
        (.invalidURL("ftp://a/"), "not an absolute http or https URL: ftp://a/", false),
        (.invalidRequest("no"), "the request can't be sent: no", false),
        (.couldNotResolve(host: "a.example"), "the host name a.example could not be resolved", true),
        (.couldNotConnect(host: "a.example:1", reason: "refused"), "no connection to a.example:1: refused", true),
        (.timedOut(host: "a.example", afterSeconds: 1.00049), "no complete answer from a.example in 1.0 s", true),
        (.tls("expired"), "TLS: expired", false),
        (.responseTooLarge(limit: 10), "the answer has more than 10 bytes", false),
        (.connectionLost("a.example: reset"), "the connection was lost: a.example: reset", true),
        (.cancelled, "the request was cancelled", false),
        (.other(code: 27, "no memory"), "curl error 27: no memory", false),
    ]

    @Test("Each says what happened, and whether to try again", arguments: every)
    func text(_ expected: (error: HTTPError, text: String, isRetryable: Bool)) {
        #expect("\(expected.error)" == expected.text)
        #expect(expected.error.isRetryable == expected.isRetryable)
    }
}
