import PostgreSQL
import TestSupport
import Testing

/// One run closes its books at a time.
@Suite(.timeLimit(.minutes(1))) struct ConcurrentClosingTests {
    @Test func aRunThatWaitedBooksNothingOnADayThatWasClosedMeanwhile() async throws {
        try await withScratchDatabase { database in
            let (job, server) = (
                try await database.connect(as: "iap_job"), try await database.connect(as: "iap_app")
            )
            defer { for session in [job, server] { session.close() } }
            try await job.execute(
                """
                INSERT INTO iap.runs (as_of, started_at, host, process_id, program_version)
                SELECT now() + number * interval '1 day', now(), 'here', 1, '1' FROM generate_series(1, 2) AS number
                """)
            try await job.execute("BEGIN")
            try await job.execute("SELECT iap.close_books(2)")
            try await server.execute(
                "SELECT iap.admit('com.example.a', 'Production', '1', '1', 'gems', 1, now(), 'ann')")
            async let closed: Void = Self.close(database)
            try await database.waitUntilSomebodyWaitsForALock()
            try await job.execute("COMMIT")
            try await closed
            let booked = try #require(
                try await job.query(
                    """
                    SELECT count(*) AS lines, count(*) FILTER (
                        WHERE booked_on <= (SELECT closed_through FROM iap.runs WHERE run_id = 2)) AS late
                    FROM iap.books
                    """
                ).first)
            #expect(try booked.decode("lines", as: Int64.self) == 1)
            #expect(try booked.decode("late", as: Int64.self) == 0)
        }
    }

    private static func close(_ database: ScratchDatabase) async throws {
        let job = try await database.connect(as: "iap_job")
        defer { job.close() }
        try await job.execute("SELECT iap.close_books(1)")
    }
}
