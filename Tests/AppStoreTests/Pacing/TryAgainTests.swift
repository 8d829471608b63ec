import Testing

@testable import AppStore

/// Why a receipt is asked about again, as the report says it.
@Suite struct TryAgainTests {
    @Test(
        arguments: [
            (.busy(status: 21005, exception: nil), "Apple answered status 21005, try again later"),
            (.busy(status: 21105, exception: "E"), "Apple answered status 21105, try again later (E)"),
            (.unknownStatus(-1, exception: nil), "Apple answered status -1, which is not documented"),
            (.unknownStatus(7, exception: "E"), "Apple answered status 7, which is not documented (E)"),
            (
                .pageTokenRefused(code: 4_000_014),
                "Apple does not take the token of the next page (4000014); it is asked for from the first page anew"
            ),
            (.questionRefused(code: 4_000_012, meaning: "why"), "Apple refuses the question (4000012): why"),
            (.http(429), "Apple answered HTTP status 429, too many requests"),
            (.http(503), "Apple answered HTTP status 503"),
            (
                .waitTooLong(http: 429, seconds: 90),
                "Apple answered HTTP status 429 and asked to wait 90 seconds, longer than a run waits"
            ),
            (.noAnswer("why"), "Apple did not answer: why"),
            (.unreadable("why"), "Apple's answer could not be read: why"),
            (.noReceipt(status: 0), "Apple's answer could not be read: status 0 without a receipt"),
            (
                .noEnvironment,
                "Apple's production (21007) and sandbox (21008) each say that the receipt is the other's"
            ),
            (.sandboxDown, "Apple's production said to ask sandbox, and Apple's sandbox is down"),
        ] as [(TryAgain, String)])
    func saysWhy(_ why: TryAgain, text: String) {
        #expect(why.text == text)
    }

    /// Only of an answer that says nothing of the question is Apple out of reach.
    @Test func tellsApartWhoWasNotReached() {
        let unreached: [TryAgain] = [
            .noAnswer("why"), .sandboxDown, .http(500), .http(599), .waitTooLong(http: 503, seconds: 90),
        ]
        let answered: [TryAgain] = [
            .busy(status: 21005, exception: nil), .unknownStatus(-1, exception: nil), .unreadable("why"),
            .pageTokenRefused(code: 4_000_014), .questionRefused(code: 4_000_012, meaning: "why"),
            .http(429), .http(499), .waitTooLong(http: 429, seconds: 90), .noReceipt(status: 0), .noEnvironment,
        ]
        for why in unreached { #expect(why.isTransport) }
        for why in answered { #expect(!why.isTransport) }
    }

    /// Apple asks in milliseconds, or until a moment; a person reads whole seconds, and none less.
    @Test func saysHowLongAppleAskedToWait() {
        #expect(TryAgain.http(429).asking(toWait: 90.2) == .waitTooLong(http: 429, seconds: 91))
        #expect(TryAgain.http(503).asking(toWait: 1e300) == .waitTooLong(http: 503, seconds: 1_000_000_000_000))
        #expect(TryAgain.noEnvironment.asking(toWait: 90) == .noEnvironment)
    }
}
