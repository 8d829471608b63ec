import Ledger
import Reconciliation

/// Where the inbox lies on the servers of a cluster.
extension Doctor {
    func cluster(_ session: LedgerSession) async throws(LedgerError) -> [Finding] {
        guard let found = try await session.examineCluster() else { return [] }
        let workers = found.workers.counted("worker")
        let cluster = Finding("cluster", .fine, "Citus \(found.version), \(workers)")
        return [cluster] + found.problems.map(Self.finding)
    }

    /// The servers on which whoever is logged in is refused.
    func refusedLogins(_ session: LedgerSession) async throws(LedgerError) -> [Finding] {
        try await session.refusedLogins().map { Self.finding(on: .refuses($0)) }
    }

    private static let distributes =
        "Run sql/citus.sql as the tables' owner, after every migration and every roles.sql."

    private static func finding(on problem: ClusterExamination.Problem) -> Finding {
        switch problem {
        case .inboxAtHome:
            Finding(
                "cluster", .warning, "the inbox lies on the coordinator alone, and no worker has any of it",
                remedy: distributes)
        case .notDistributed(let table):
            Finding(
                "cluster", .wrong, "\(table) is not distributed by its bucket, with the inbox", remedy: distributes)
        case .distributed(let table):
            Finding(
                "cluster", .wrong, "\(table) is distributed, and a night wants it on the coordinator",
                remedy: "Dump the database, and restore it in a new one (docs/scale.md): "
                    + "undistribute_table would drop functions that read its rows, and rights.")
        case .uploadsInPieces:
            Finding(
                "cluster", .warning, "an upload is sent to its worker statement by statement, which takes longer",
                remedy: distributes)
        case .unreachable(let server, let why):
            Finding(
                "worker \(server)", .wrong, "the coordinator does not reach it: \(why)",
                remedy: "Start it, and let the coordinator in as each of the roles (pg_hba.conf, .pgpass).")
        case .refuses(let login):
            Finding(
                "worker \(login.server)", .wrong,
                "it does not let the coordinator in as \(login.role): \(login.why)",
                remedy: "Let it in there as \(login.role), by the worker's pg_hba.conf and, with a password, the "
                    + "coordinator's .pgpass.")
        case .lacksRights(let table, let server):
            Finding("worker \(server)", .wrong, "the role lacks rights on shards of \(table)", remedy: distributes)
        case .preparesNothing(let server):
            Finding(
                "worker \(server)", .wrong,
                "max_prepared_transactions is 0, so no write of several servers is possible",
                remedy: "Set it to twice max_connections, and restart the server.")
        case .leftPrepared(let count, let server):
            Finding(
                "worker \(server)", .warning,
                "holds \(count.counted("prepared transaction")) for more than ten minutes, with their locks",
                remedy: "SELECT recover_prepared_transactions() on the coordinator.")
        case .waitsForEver(let server):
            Finding("worker \(server)", .wrong, "the role waits for a lock for ever there", remedy: distributes)
        case .forgets(let server):
            Finding(
                "worker \(server)", .warning,
                "acknowledges commits before they are on its disk: a crash forgets uploads, each a lost order",
                remedy: "Set synchronous_commit on there.")
        case .recoversNothing:
            Finding(
                "cluster", .warning, "what a crash leaves prepared is ended by nobody",
                remedy: "Set citus.recover_2pc_interval on the coordinator, such as to 60s.")
        }
    }
}
