import AppStoreSimulator
import Foundation
import TestSupport

/// The connection to PostgreSQL goes through a network that fails.
enum Networks {
    static func scenarios(points: Int) -> [Scenario] {
        [
            Scenario("proxy-cut", "connections to PostgreSQL cut by the network", points: max(3, points / 4)) {
                stage, point in
                try await disturbed(stage, point) { $0.cut() }
            },
            // Each of these waits until the job's own time limit has passed.
            Scenario("proxy-stall", "connections to PostgreSQL that the network forgets", points: max(2, points / 20)) {
                stage, point in
                try await disturbed(stage, point) { $0.stall() }
            },
            Scenario("proxy-delay", "every piece from and to PostgreSQL 5 ms late") { stage, _ in
                try await behindProxy(stage) { proxy, job in
                    proxy.delay(microseconds: 5000)
                    try await stage.run(job, expecting: [0])
                }
                try await stage.compare()
            },
        ]
    }

    /// Stops a run at a random moment while the network fails. The run has to recover from that by itself.
    private static func disturbed(_ stage: Stage, _ point: Point, _ disturb: (Proxy) -> Void) async throws {
        var random = point.random
        let moment = Moment(&random, of: stage)
        try await behindProxy(stage) { proxy, job in
            let job = moment.signal(job.with("database", ["statement_timeout": "2s"]), SIGSTOP)
            try await stage.run(job, expecting: [0]) { child in
                guard try await child.waitUntilStopped() else { return }
                disturb(proxy)
                child.send(signal: SIGCONT)
            }
        }
        try await stage.compare()
    }

    private static func behindProxy(_ stage: Stage, _ body: (Proxy, Job) async throws -> Void) async throws {
        let cluster = stage.theatre.cluster
        let proxy = try Proxy(to: .unix(path: "\(cluster.directory)/.s.PGSQL.\(cluster.port)"))
        defer { proxy.stop() }
        var job = stage.job
        job.conninfo = "host=127.0.0.1 port=\(proxy.port) user=iap_job dbname=\(stage.database)"
        try await body(proxy, job)
    }
}
