import Foundation
import PostgreSQL
import TestSupport

/// A night under unfortunate conditions: a clock that is years off, a server that takes no changes, a transaction that
/// outlives its session, an inbox that somebody fills.
enum Conditions {
    static func scenarios(points: Int) -> [Scenario] {
        [
            clock("clock-ahead", "the host's clock is years ahead: refused, nothing changed; then a run", "+4y"),
            clock("clock-behind", "the host's clock is years behind: refused, nothing changed; then a run", "-4y"),
            Scenario("read-only", "the server goes read-only in the middle, then a run", points: max(3, points / 10)) {
                stage, point in
                var random = point.random
                let job = Moment(&random, of: stage).signal(stage.job.impatient, SIGSTOP)
                try await stage.run(job, expecting: [0, 69, 75]) { child in
                    guard try await child.waitUntilStopped() else { return }
                    try await setReadOnly(stage, true)
                    child.send(signal: SIGCONT)
                    _ = await child.waitUntilEnded()
                    try await setReadOnly(stage, false)
                }
                try await stage.finishAndCompare()
            },
            Scenario("prepared-claim", "a prepared transaction that holds claims, then the next nights") { stage, _ in
                try await withPreparedClaims(stage) {
                    let ended = try await stage.run(stage.job.impatient, expecting: [75])
                    guard ended.output.contains("held by the prepared transaction “\(stage.database)”") else {
                        throw Broken("the summary doesn't name who holds on:\n\(ended.output)")
                    }
                }
                try await stage.finishLaterNightsAndCompareFindings()
            },
            Scenario("garbage", "twenty thousand uploads of one client's garbage in the inbox") { stage, _ in
                let client = try await stage.connect()
                _ = try await client.query(
                    """
                    SELECT count(iap.submit_receipt(
                        (SELECT bundle_id FROM iap.receipts ORDER BY receipt_id LIMIT 1), 'flooder',
                        encode(sha256(number::text::bytea), 'base64')))
                    FROM generate_series(1, 20000) AS number
                    """)
                client.close()
                try await stage.run(stage.job, expecting: [0, 75])
                try await Invariants(stage: stage).check()
                let paid = ["white", "black", "excluded", "report's cases"]
                try await stage.snapshot().keeping(paid).expectSame(as: stage.theatre.undisturbed.keeping(paid))
            },
        ]
    }

    private static func clock(_ name: String, _ what: String, _ offset: String) -> Scenario {
        Scenario(name, what) { stage, _ in
            let before = try await stage.fingerprint()
            var job = stage.job
            job.isReplay = false
            job.shell = "exec faketime -f '\(offset)' \"$@\""
            job.environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
            let ended = try await stage.run(job, expecting: [78])
            guard ended.errors.contains("clock") else { throw Broken("no word of the clock:\n\(ended.errors)") }
            guard try await stage.fingerprint() == before else { throw Broken("the refused run changed something") }
            try await stage.finishAndCompare()
        }
    }

    /// Sets it for new sessions and ends the present ones, as if a standby took over the address.
    private static func setReadOnly(_ stage: Stage, _ isReadOnly: Bool) async throws {
        let value = isReadOnly ? "on" : "off"
        try await stage.theatre.administer(
            "ALTER DATABASE \(identifier: stage.database) SET default_transaction_read_only = \(unsafe: value)")
        try await stage.theatre.administer(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = \(stage.database) AND usename IN ('iap_job', 'iap_import')
            """)
    }

    private static func withPreparedClaims(_ stage: Stage, _ body: () async throws -> Void) async throws {
        let claimer = try await Neighbours.openClaims(stage)
        defer { claimer.close() }
        try await claimer.execute("PREPARE TRANSACTION '\(unsafe: stage.database)'")
        do {
            try await body()
        } catch {
            _ = try? await claimer.execute("ROLLBACK PREPARED '\(unsafe: stage.database)'")
            throw error
        }
        try await claimer.execute("ROLLBACK PREPARED '\(unsafe: stage.database)'")
    }
}
