import PostgreSQL

/// A server of a cluster that does not let the coordinator in as a role.
public struct RefusedLogin: Hashable, Sendable {
    public let role: String
    public let server: String
    public let why: String
}

extension LedgerSession {
    /// The servers that refuse the role of this session; none if the database is no cluster.
    public func refusedLogins() async throws(LedgerError) -> [RefusedLogin] {
        guard try await isClustered() else { return [] }
        return try await translating {
            let own = try await connection.only("SELECT current_user::text AS role")
            return try await refusedLogins(of: own.decode("role")) {
                "SELECT 1 AS one FROM iap.receipts WHERE bucket = \($0) LIMIT 1"
            }
        }
    }

    /// Those that refuse the schema's owner, if that is another role: uploads, purges and erasures write in its name. A
    /// purge of what is older than anything only looks.
    func refusedLoginsOfOwner() async throws -> [RefusedLogin] {
        let owners = try await connection.query(
            """
            SELECT pg_get_userbyid(relowner)::text AS role
            FROM pg_class
            WHERE oid = 'iap.receipts'::regclass AND pg_get_userbyid(relowner) <> current_user
            """)
        guard let owner = owners.first else { return [] }
        return try await refusedLogins(of: owner.decode("role")) {
            "SELECT iap.purge_devices(\($0), '-infinity', 1) AS purged"
        }
    }

    /// Asks each server about one of the buckets that lie there: the coordinator logs in where what is asked lies.
    private func refusedLogins(of role: String, asking question: (Int16) -> SQL) async throws -> [RefusedLogin] {
        // By the metadata: Citus tells the shard of a value only to who may read the whole table.
        let servers = try await connection.query(
            """
            SELECT nodename || ':' || nodeport AS server, min(bucket)::smallint AS bucket
            FROM unnest(\(Array(Bucket.all))) AS every (bucket)
            JOIN pg_catalog.pg_dist_shard
                ON logicalrelid = 'iap.receipts'::regclass
                AND worker_hash(bucket::smallint) BETWEEN shardminvalue::integer AND shardmaxvalue::integer
            JOIN pg_catalog.pg_dist_placement USING (shardid)
            JOIN pg_catalog.pg_dist_node USING (groupid)
            WHERE noderole = 'primary'
            GROUP BY 1
            ORDER BY 1
            """)
        var refused: [RefusedLogin] = []
        for row in servers {
            let asked = question(try row.decode("bucket"))
            do {
                // In a transaction the owner, too, waits for a lock no longer than the job.
                _ = try await translating {
                    try await connection.transaction(isRehearsal: true) { try await connection.query(asked) }
                }
            } catch LedgerError.refusedByWorker(let why) {
                refused.append(RefusedLogin(role: role, server: try row.decode("server"), why: why))
            } catch {
                // What else is wrong with a server, other questions find.
                continue
            }
        }
        return refused
    }
}
