import AppStoreSimulator
import Foundation
import TestSupport

/// Apple fails, in all ways in which it has failed before or might.
enum Apples {
    /// Nothing was processed, or only what needs no word of Apple's: a transaction with its own signature.
    private static let withoutApple: Set<Int32> = [69, 75]

    static func scenarios(points: Int) -> [Scenario] {
        outages(points: points) + rateLimits + wrongAnswers + clocks
    }

    private static func outages(points: Int) -> [Scenario] {
        [
            Scenario("outage", "Apple goes down in the middle, then a run", points: max(3, points / 10)) {
                stage, point in
                var random = point.random
                let answered = Int.random(in: 20...200, using: &random)
                try await stage.theatre.withStore(outageAfter: answered) { _, addresses in
                    try await stage.run(stage.job(asking: addresses), expecting: [75])
                }
                try await stage.finishWithAppleAndCompare()
            },
            Scenario("outage-all-night", "Apple down from the start, then a run") { stage, _ in
                try await stage.theatre.withStore(outageAfter: 0) { _, addresses in
                    try await stage.run(stage.job(asking: addresses), expecting: Self.withoutApple)
                }
                try await stage.finishWithAppleAndCompare()
            },
        ]
    }

    private static var rateLimits: [Scenario] {
        [
            Scenario("429-storm", "one of twelve of Apple's answers is 429") { stage, _ in
                let faults = try Faults([.rateLimited: 0.08])
                try await stage.theatre.withStore(faults: faults) { _, addresses in
                    let job = stage.job(asking: addresses).with("apple", ["attempts": "20"])
                    try await stage.run(job, expecting: [0])
                }
                try await stage.compare()
            },
            Scenario("429-heavy", "every second answer of Apple's is 429, then the next nights") { stage, _ in
                let faults = try Faults([.rateLimited: 0.5])
                try await stage.theatre.withStore(faults: faults) { _, addresses in
                    let job = stage.job(asking: addresses).with("apple", ["attempts": "3"])
                    try await stage.run(job, expecting: [0, 75])
                }
                try await stage.finishLaterNightsAndCompareFindings()
            },
            Scenario("429-only", "every answer of Apple's is 429, then the next nights") { stage, _ in
                let faults = try Faults([.rateLimited: 1])
                try await stage.theatre.withStore(faults: faults) { _, addresses in
                    let job = stage.job(asking: addresses).with("apple", ["attempts": "2"])
                    try await stage.run(job, expecting: Self.withoutApple)
                }
                try await stage.finishLaterNightsAndCompareFindings()
            },
        ]
    }

    /// What answers is not what Apple would say, or not Apple.
    private static var wrongAnswers: [Scenario] {
        [
            Scenario(
                "nasty-answers",
                "answers of 100 MB, announced or not, and answers that never end, then the next nights",
                points: NastyAnswer.allCases.count
            ) { stage, point in
                let answer = NastyAnswer.allCases[point.number - 1]
                guard let port = URL(string: stage.theatre.store.base)?.port else { return }
                let proxy = try Proxy(to: .loopback(port: UInt16(port))) { number, client in
                    guard number % 4 == 1, number < 60 else { return false }
                    answer.send(to: client)
                    return true
                }
                defer { proxy.stop() }
                var job = stage.job.with("apple", ["timeout": "2s", "attempts": "2"])
                job.store = "http://127.0.0.1:\(proxy.port)"
                try await stage.run(job, expecting: [0])
                try await stage.finishLaterNightsAndCompareFindings()
            },
            Scenario(
                "certificates", "Apple's certificate expired, of another name, of an unknown authority, then a run",
                points: BadCertificate.allCases.count
            ) { stage, point in
                try await TLSFront.with(BadCertificate.allCases[point.number - 1], before: stage.theatre.store) {
                    base, authority in
                    var job = stage.job.with("apple", ["certificate_authorities": authority])
                    job.store = base
                    try await stage.run(job, expecting: Self.withoutApple)
                }
                try await stage.finishWithAppleAndCompare()
            },
        ]
    }

    private static var clocks: [Scenario] {
        [
            Scenario("apples-clock", "Apple's clock a day behind, or a day ahead, then the next nights", points: 2) {
                stage, point in
                let difference = point.number == 1 ? -Theatre.day : Theatre.day
                try await stage.theatre.withStore(clock: difference) { _, addresses in
                    try await stage.run(stage.job(asking: addresses), expecting: [0])
                }
                try await stage.finishLaterNightsAndCompareFindings()
            },
            Scenario("jobs-clock", "the job's clock a day behind PostgreSQL's, then the next nights") { stage, _ in
                var job = stage.job
                job.now -= Theatre.day
                try await stage.run(job, expecting: [0])
                try await stage.run(stage.job, expecting: [0])
                try await stage.finishLaterNightsAndCompareFindings()
            },
        ]
    }
}

extension Stage {
    /// The job, asking another store.
    func job(asking addresses: SimulatedAppStore.Addresses) -> Job {
        var job = job
        job.store = addresses.base
        return job
    }
}
