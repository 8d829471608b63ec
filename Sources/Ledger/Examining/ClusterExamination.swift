import PostgreSQL

/// What an examination of a cluster found.
public struct ClusterExamination: Sendable {
    /// Something that is not as a night needs it.
    public enum Problem: Hashable, Sendable {
        /// Workers are joined, and nothing of the inbox lies there.
        case inboxAtHome
        /// A table of the inbox is not distributed by its bucket, together with the other.
        case notDistributed(table: String)
        /// A table of the ledger is distributed that `sql/citus.sql` leaves on the coordinator.
        case distributed(table: String)
        /// Each statement of an upload goes to the worker that keeps its bucket, instead of all of them together.
        case uploadsInPieces
        /// The coordinator can't reach a server.
        case unreachable(server: String, why: String)
        /// A server does not let the coordinator in as a role.
        case refuses(RefusedLogin)
        /// The role lacks rights on shards of a table.
        case lacksRights(table: String, server: String)
        /// A server keeps no prepared transactions, without which writing on several servers is not atomic.
        case preparesNothing(server: String)
        /// Prepared transactions are older than ten minutes: nobody ended them, and they hold locks.
        case leftPrepared(count: Int, server: String)
        /// On a server the role waits for a lock for ever.
        case waitsForEver(server: String)
        /// A server acknowledges commits before they are on its disk: a crash forgets uploads, which lie there.
        case forgets(server: String)
        /// The coordinator does not end by itself what a crash left prepared.
        case recoversNothing
    }

    /// Citus' version, as its extension says it.
    public let version: String
    public let workers: Int
    public let problems: [Problem]
}

extension LedgerSession {
    /// Looks at what a run relies on in a cluster; `nil` if the database is none.
    public func examineCluster() async throws(LedgerError) -> ClusterExamination? {
        let isClustered = try await isClustered()
        return try await translating {
            if !isClustered { guard try await hasWorkers() else { return nil } }
            let citus = try await connection.only(
                """
                SELECT
                    extversion, current_setting('citus.recover_2pc_interval') = '-1' AS recovers_nothing,
                    (SELECT count(*) FROM pg_catalog.pg_dist_node WHERE shouldhaveshards) AS workers,
                    EXISTS (
                        SELECT FROM pg_catalog.pg_dist_object
                        JOIN pg_proc ON pg_proc.oid = objid
                        WHERE classid = 'pg_proc'::regclass AND proname = 'store_upload'
                            AND pronamespace = 'iap'::regnamespace AND force_delegation
                    ) AS delegates
                FROM pg_catalog.pg_extension
                WHERE extname = 'citus'
                """)
            guard isClustered else {
                return ClusterExamination(
                    version: try citus.decode("extversion"), workers: try citus.decode("workers"),
                    problems: [.inboxAtHome])
            }
            var problems = try await misplacedTables()
            if try citus.decode("recovers_nothing", as: Bool.self) { problems.append(.recoversNothing) }
            if try !citus.decode("delegates", as: Bool.self) { problems.append(.uploadsInPieces) }
            let refused = try await refusedLogins()
            let unreachable = try await unreachableServers(besides: refused.map(\.server))
            problems += unreachable
            problems += refused.map(ClusterExamination.Problem.refuses)
            problems += try await refusedLoginsOfOwner().map(ClusterExamination.Problem.refuses)
            // What follows is asked of all of them, as this role.
            if unreachable.isEmpty && refused.isEmpty {
                problems += try await problemsOfServers() + lackingRightsOnShards()
            }
            return ClusterExamination(
                version: try citus.decode("extversion"), workers: try citus.decode("workers"), problems: problems)
        }
    }

    private func hasWorkers() async throws -> Bool {
        let isCitus = try await connection.only(
            "SELECT to_regclass('pg_catalog.pg_dist_node') IS NOT NULL AS is_there")
        guard try isCitus.decode("is_there", as: Bool.self) else { return false }
        return try await connection.only(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND groupid <> 0) AS has_workers"
        ).decode("has_workers")
    }

    private func misplacedTables() async throws -> [ClusterExamination.Problem] {
        try await connection.query(
            """
            WITH placed AS (
                SELECT
                    format('%s.%s', nspname, relname) AS name, colocationid,
                    column_to_column_name(logicalrelid, partkey) IS NOT DISTINCT FROM 'bucket' AS is_by_bucket
                FROM pg_catalog.pg_dist_partition
                JOIN pg_class ON pg_class.oid = logicalrelid
                JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname IN ('iap', 'audit')
            )
            SELECT wanted.name, true AS is_inbox
            FROM unnest(ARRAY['iap.receipts', 'iap.uploads']) AS wanted (name)
            LEFT JOIN placed ON placed.name = wanted.name AND is_by_bucket
                AND colocationid = (SELECT colocationid FROM placed WHERE name = 'iap.receipts')
            WHERE placed.name IS NULL
            UNION ALL
            SELECT name, false FROM placed WHERE name NOT IN ('iap.receipts', 'iap.uploads')
            ORDER BY 2 DESC, 1
            """
        ).map { row in
            let table = try row.decode("name", as: String.self)
            return try row.decode("is_inbox", as: Bool.self)
                ? .notDistributed(table: table) : .distributed(table: table)
        }
    }

    /// The servers that are away. What asks all of them does not say why one does not answer, so those that are known
    /// to refuse this role are left out.
    private func unreachableServers(besides refusing: [String]) async throws -> [ClusterExamination.Problem] {
        try await connection.query(
            """
            SELECT nodename || ':' || nodeport AS server, result
            FROM run_command_on_workers('SELECT 1')
            WHERE NOT success AND nodename || ':' || nodeport <> ALL (\(refusing))
            ORDER BY 1
            """
        ).map { .unreachable(server: try $0.decode("server"), why: try $0.decode("result")) }
    }

    private func problemsOfServers() async throws -> [ClusterExamination.Problem] {
        let rows = try await connection.query(
            """
            SELECT nodename || ':' || nodeport AS server, result::json ->> 'prepared' AS prepared,
                result::json ->> 'left' AS left, result::json ->> 'waits' AS waits,
                result::json ->> 'commits' AS commits
            FROM run_command_on_workers(
                $asked$
                SELECT json_build_object(
                    'prepared', current_setting('max_prepared_transactions'), 'waits', current_setting('lock_timeout'),
                    'commits', current_setting('synchronous_commit'),
                    'left', (
                        SELECT count(*) FROM pg_prepared_xacts
                        WHERE database = current_database() AND starts_with(gid, 'citus_')
                            AND prepared < now() - interval '10 minutes'))
                $asked$)
            ORDER BY 1
            """)
        return try rows.flatMap { row in
            let server = try row.decode("server", as: String.self)
            let left = Int(try row.decode("left", as: String.self)) ?? 0
            var problems: [ClusterExamination.Problem] = []
            if try row.decode("prepared", as: String.self) == "0" { problems.append(.preparesNothing(server: server)) }
            if try row.decode("waits", as: String.self) == "0" { problems.append(.waitsForEver(server: server)) }
            if try row.decode("commits", as: String.self) == "off" { problems.append(.forgets(server: server)) }
            if left > 0 { problems.append(.leftPrepared(count: left, server: server)) }
            return problems
        }
    }

    private func lackingRightsOnShards() async throws -> [ClusterExamination.Problem] {
        var problems: [ClusterExamination.Problem] = []
        for (table, wanted) in [
            (
                "receipts",
                "has_table_privilege(%1$L, 'SELECT') AND has_table_privilege(%1$L, 'INSERT') "
                    + "AND has_column_privilege(%1$L, 'state', 'UPDATE')"
            ),
            ("uploads", "has_table_privilege(%1$L, 'SELECT') AND has_table_privilege(%1$L, 'INSERT')"),
        ] {
            problems += try await connection.query(
                """
                SELECT DISTINCT nodename || ':' || nodeport AS server
                FROM run_command_on_placements(\("iap.\(table)")::regclass, \("SELECT \(wanted)"))
                WHERE NOT success OR result IS DISTINCT FROM 't'
                ORDER BY 1
                """
            ).map { .lacksRights(table: "iap.\(table)", server: try $0.decode("server")) }
        }
        return problems
    }
}
