import Testing

@testable import AppStore

@Suite struct StatusTests {
    @Test(arguments: [0, 21006])
    func isGenuine(status: Int) {
        let verdict = verdict(on: #"{"status": \#(status), "receipt": {"bundle_id": "com.example.game"}}"#)
        guard case .settled(.genuine(let answer)) = verdict else { return #expect(Bool(false), "\(verdict)") }
        #expect(answer.bundleID == "com.example.game")
    }

    @Test(arguments: [0, 21006])
    func isNoAnswerWithoutAReceipt(status: Int) {
        for receipt in ["", #", "receipt": null"#, #", "receipt": "none""#, #", "receipt": []"#] {
            let verdict = verdict(on: #"{"status": \#(status)\#(receipt)}"#)
            #expect(verdict == .failed(.noReceipt(status: status), worthRetrying: true))
        }
    }

    @Test func settlesWhatAskingAgainDoesNotChange() {
        #expect(verdict(on: #"{"status":21002}"#) == .settled(.malformedOrOutage(status: 21002)))
        #expect(verdict(on: #"{"status":21003}"#) == .settled(.notGenuine(status: 21003)))
        #expect(verdict(on: #"{"status":21010}"#) == .settled(.accountGone))
    }

    @Test func asksForConfiguration() throws {
        guard case .settled(.needsConfiguration(let text)) = verdict(on: #"{"status":21000}"#, hasSecret: true) else {
            return #expect(Bool(false), "not of a setting")
        }
        #expect(text.contains("not a POST") && text.contains("21000"))
        for (hasSecret, words) in [(true, "refuses the app's shared secret"), (false, "none is configured")] {
            let verdict = verdict(on: #"{"status":21004}"#, hasSecret: hasSecret)
            guard case .settled(.needsSecret(let text)) = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(text.contains(words) && text.contains("21004"))
        }
    }

    @Test func followsTheReceiptToTheOtherEnvironment() {
        #expect(verdict(on: #"{"status":21007}"#, from: .production) == .otherEnvironment)
        #expect(verdict(on: #"{"status":21008}"#, from: .sandbox) == .otherEnvironment)
        for (status, endpoint) in [(21008, ServerEnvironment.production), (21007, .sandbox)] {
            let nonsense = VerifyReceiptVerdict.failed(.unknownStatus(status, exception: nil), worthRetrying: false)
            #expect(verdict(on: #"{"status":\#(status)}"#, from: endpoint) == nonsense)
        }
    }

    /// Nobody paid for what production says is sandbox's.
    @Test func doesNotBelieveSandboxThatNamesProduction() {
        let named = #"{"status":0,"environment":"Production","receipt":{"in_app":[\#(row("1"))]}}"#
        let contradiction = VerifyReceiptVerdict.failed(
            .unreadable("it comes from sandbox, and names production"), worthRetrying: false)
        #expect(verdict(on: named, from: .sandbox) == contradiction)
        guard case .settled(.genuine) = verdict(on: named, from: .production) else {
            Issue.record("production's own word")
            return
        }
    }

    @Test(arguments: [21005, 21009, 21100, 21150, 21199])
    func triesAgainAfterAnInternalError(status: Int) {
        let again = VerifyReceiptVerdict.failed(.busy(status: status, exception: nil), worthRetrying: true)
        #expect(verdict(on: #"{"status":\#(status)}"#) == again)
        for flag in ["true", "1", #""true""#, #""1""#] {
            #expect(verdict(on: #"{"status":\#(status),"is-retryable":\#(flag)}"#) == again)
            #expect(verdict(on: #"{"status":\#(status),"is_retryable":\#(flag)}"#) == again)
        }
    }

    @Test(arguments: ["false", "0", #""false""#, #""0""#])
    func takesAnInternalErrorThatIsNotRetryableForTheReceipts(flag: String) {
        for name in ["is-retryable", "is_retryable"] {
            #expect(
                verdict(on: #"{"status":21101,"\#(name)":\#(flag)}"#) == .settled(.malformedOrOutage(status: 21101)))
            #expect(
                verdict(on: #"{"status":21009,"\#(name)":\#(flag)}"#)
                    == .failed(.busy(status: 21009, exception: nil), worthRetrying: false))
        }
    }

    @Test(arguments: [-1, 1, 500, 20999, 21001, 21011, 21099, 21200])
    func triesAgainOnAnotherNightAfterAnUnknownStatus(status: Int) {
        #expect(
            verdict(on: #"{"status":\#(status)}"#)
                == .failed(.unknownStatus(status, exception: nil), worthRetrying: false))
    }

    @Test func namesTheExceptionInShort() {
        let long = String(repeating: "x", count: 500)
        let verdict = verdict(on: #"{"status":21009,"exception":"java.lang.NullPointer\nException\#(long)"}"#)
        guard case .failed(let why, _) = verdict else { return #expect(Bool(false), "\(verdict)") }
        #expect(why.text.contains("java.lang.NullPointer Exception"))
        #expect(why.text.count < 250)
    }

    @Test func readsAStatusThatIsAString() {
        #expect(verdict(on: #"{"status":"21003"}"#) == .settled(.notGenuine(status: 21003)))
        #expect(verdict(on: #"{"status":21003.0}"#) == .settled(.notGenuine(status: 21003)))
    }

    @Test(arguments: [
        ("", "it is empty"), ("<html><body>Service Unavailable</body></html>", "it is HTML"),
        (#"{"status":0,"receipt":{"in_app":[{"quan"#, "cut short"), ("Service Unavailable", "it is not JSON"),
        ("{}", "it has no status"), (#"{"status":null}"#, "it has no status"), ("[1]", "it is not JSON"),
        (#"{"status":99999999999999999999}"#, "it has no status"),
    ])
    func triesAgainAfterWhatIsNoAnswer(body: String, words: String) {
        guard case .failed(.unreadable(let why), worthRetrying: true) = verdict(on: body) else {
            return #expect(Bool(false), "\(verdict(on: body))")
        }
        #expect(why.contains(words))
    }
}
