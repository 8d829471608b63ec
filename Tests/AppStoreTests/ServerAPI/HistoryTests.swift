import Foundation
import Testing

@testable import AppStore

@Suite struct HistoryTests {
    /// Serves `count` production transactions, two a page; a page's revision says where the next begins.
    private func pages(_ count: Int, in environment: String = "Production")
        -> @Sendable (TestChain) throws ->
        ServerAPIStage.Script
    {
        { chain in
            let signed = try (0..<count).map {
                try chain.sign(TestPayload.transaction("\($0)", environment: environment))
            }
            return { request, _ in
                guard request.isProduction == (environment == "Production") else { return .apiError(4_040_010) }
                let query = URLComponents(string: "http://h/" + request.path)?.queryItems
                let start = query?.first { $0.name == "revision" }?.value.flatMap { Int($0.dropFirst(2)) } ?? 0
                let end = min(count, start + 2)
                return .page(Array(signed[start..<end]), revision: "r+\(end)", hasMore: end < count)
            }
        }
    }

    @Test func readsEveryPageInItsOrder() async throws {
        try await ServerAPIStage.with(script: pages(5)) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.flatMap { $0.value?.transactions ?? [] }.map(\.transactionID) == ["0", "1", "2", "3", "4"])
            #expect(pages.last?.value?.revision == "r+5")
            #expect(
                stage.asked == [
                    "production/inApps/v2/history/0?sort=ASCENDING",
                    "production/inApps/v2/history/0?revision=r%2B2&sort=ASCENDING",
                    "production/inApps/v2/history/0?revision=r%2B4&sort=ASCENDING",
                ])
        }
    }

    @Test func beginsAfterTheRevisionThatIsKnown() async throws {
        try await ServerAPIStage.with(script: pages(5)) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0", after: "r+4"))
            #expect(pages.flatMap { $0.value?.transactions ?? [] }.map(\.transactionID) == ["4"])
        }
    }

    @Test func staysWithTheEnvironmentThatAnswered() async throws {
        try await ServerAPIStage.with(script: pages(3, in: "Sandbox")) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.compactMap { $0.value?.environment } == [.sandbox, .sandbox])
            #expect(stage.asked.map { $0.prefix(7) } == ["product", "sandbox", "sandbox"])
        }
    }

    @Test func asksForAPageOnlyWhenItIsWanted() async throws {
        try await ServerAPIStage.with(script: pages(100)) { stage in
            var read = 0
            for try await page in stage.client.history(ofCustomerWith: "0") {
                read += page.value?.transactions.count ?? 0
                if read >= 4 { break }
            }
            #expect(stage.asked.count == 2)
        }
    }

    @Test func acceptsAnEmptyHistory() async throws {
        try await ServerAPIStage.with(reply: .json(#"{"hasMore":false,"revision":"r"}"#)) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.count == 1)
            #expect(pages.first?.value?.transactions == [])
        }
    }

    @Test(arguments: ["same", nil])
    func endsWhereAppleNamesNoOtherPage(revision: String?) async throws {
        try await ServerAPIStage.with(reply: .page([], revision: revision, hasMore: true)) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.last == .tryAgain(.unreadable("it says that there is more, and not where")))
            // What stands on the pages is Apple's word all the same.
            #expect(pages.compactMap(\.value).count == stage.asked.count)
            #expect(stage.asked.count == (revision == nil ? 1 : 2))
        }
    }

    @Test func endsWithTheOutcomeThatIsNoPage() async throws {
        try await ServerAPIStage.with(script: { chain in
            let signed = try chain.sign(TestPayload.transaction("0", environment: "Production"))
            return { request, _ in
                request.path.contains("revision")
                    ? .apiError(4_040_001) : .page([signed], revision: "r", hasMore: true)
            }
        }) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.count == 2)
            #expect(pages.last == .notFound(.account))
        }
    }

    /// Two revisions in turn say for ever that there is more.
    @Test func endsWhereApplesPagesGoInCircles() async throws {
        try await ServerAPIStage.with(script: { _ in
            { request, _ in
                .page([], revision: request.path.contains("revision=a") ? "b" : "a", hasMore: true)
            }
        }) { stage in
            let pages = try await outcomes(stage.client.history(ofCustomerWith: "0"))
            #expect(pages.last == .tryAgain(.unreadable("it says that there is more, and not where")))
            #expect(stage.asked.count == 3)
        }
    }

    /// Nothing is dropped without a word, and one of another's hides nobody's.
    @Test func tellsWhatOfAPageIsNotGenuineAndTakesTheRest() async throws {
        let foreign = try await TestChain.make()
        try await ServerAPIStage.with(script: { chain in
            let genuine = try chain.sign(TestPayload.transaction("0", environment: "Production"))
            let forged = try foreign.sign(
                TestPayload.transaction("1", environment: "Production"), header: chain.header())
            return { request, _ in
                .page(request.path.contains("/1?") ? [forged] : [genuine, forged], revision: "r", hasMore: false)
            }
        }) { stage in
            let page = try await outcomes(stage.client.history(ofCustomerWith: "0")).first?.value
            #expect(page?.transactions.count == 1)
            #expect(page?.unverified == [UnverifiedPayload(place: "signedTransactions[1]", error: .wrongSignature)])
            let nothing = try await outcomes(stage.client.history(ofCustomerWith: "1"))
            #expect(nothing == [.unverified(UnverifiedPayload(place: "signedTransactions[0]", error: .wrongSignature))])
        }
    }

    /// What is no text at all hides nobody's either.
    @Test(arguments: ["null", "5", "{}", "[]", #""""#])
    func takesTheRestOfAPageWithAnEntryThatIsNone(entry: String) async throws {
        try await ServerAPIStage.with(script: { chain in
            let genuine = try chain.sign(TestPayload.transaction("0", environment: "Production"))
            return { _, _ in
                .json(#"{"signedTransactions":[\#(entry),"\#(genuine)"],"hasMore":false,"revision":"r"}"#)
            }
        }) { stage in
            let page = try await outcomes(stage.client.history(ofCustomerWith: "0")).first?.value
            #expect(page?.transactions.map(\.transactionID) == ["0"])
            #expect(
                page?.unverified
                    == [UnverifiedPayload(place: "signedTransactions[0]", error: .notCompact("it is empty"))])
        }
    }

    @Test func readsRefunds() async throws {
        try await ServerAPIStage.with(script: pages(3)) { stage in
            let pages = try await outcomes(stage.client.refundHistory(ofCustomerWith: "0"))
            #expect(pages.flatMap { $0.value?.transactions ?? [] }.map(\.transactionID) == ["0", "1", "2"])
            #expect(
                stage.asked == [
                    "production/inApps/v2/refund/lookup/0", "production/inApps/v2/refund/lookup/0?revision=r%2B2",
                ])
        }
    }

    @Test func neverSendsWhatCannotBeAnId() async throws {
        try await ServerAPIStage.with(script: pages(1)) { stage in
            let client = stage.client
            let answer = try await outcomes(client.history(ofCustomerWith: "../x"))
            #expect(answer == [.notFound(.invalidTransactionID)])
            let answerOfRefunds = try await outcomes(client.refundHistory(ofCustomerWith: ""))
            #expect(answerOfRefunds == [.notFound(.invalidTransactionID)])
            #expect(stage.asked.isEmpty)
        }
    }
}
