import Foundation
import PostgreSQL

extension LedgerSession {
    /// Whether `sql/roles.sql` would change anything: it is run and rolled back.
    public func lacksGrants() async throws(LedgerError) -> Bool {
        try await translating {
            try await connection.transaction(isRehearsal: true) {
                let before = try await grants()
                try await connection.executeScript(unsafe: Self.rolesScript)
                return try await grants() != before
            }
        }
    }

    /// Runs `sql/roles.sql`.
    public func grantRoles() async throws(LedgerError) {
        try await translating {
            _ = try await connection.transaction { try await connection.executeScript(unsafe: Self.rolesScript) }
        }
    }

    static let rolesScript = String(decoding: PackageResources.roles_sql, as: UTF8.self)

    /// A hash over who may do what in this database.
    private func grants() async throws -> String {
        try await connection.only(
            """
            WITH granted (what, list) AS (
                SELECT oid::regclass::text, coalesce(relacl, acldefault('r', relowner))
                FROM pg_class
                WHERE relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('iap', 'finance', 'audit'))
                UNION ALL
                SELECT attrelid::regclass || '.' || attname, attacl
                FROM pg_attribute
                WHERE attacl IS NOT NULL
                UNION ALL
                SELECT oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
                FROM pg_proc
                WHERE pronamespace IN (SELECT oid FROM pg_namespace WHERE nspname IN ('iap', 'finance', 'audit'))
                UNION ALL
                SELECT 'schema ' || nspname, coalesce(nspacl, acldefault('n', nspowner))
                FROM pg_namespace
                UNION ALL
                SELECT 'database', coalesce(datacl, acldefault('d', datdba))
                FROM pg_database
                WHERE datname = current_database()
            ), lines (line) AS (
                SELECT concat_ws(' ', what, entry.grantee::regrole, entry.privilege_type, entry.is_grantable)
                FROM granted, aclexplode(list) AS entry
                UNION ALL
                SELECT concat_ws(' ', 'role', oid::regrole) FROM pg_roles
                UNION ALL
                SELECT concat_ws(' ', 'member', roleid::regrole, member::regrole) FROM pg_auth_members
                UNION ALL
                SELECT concat_ws(' ', 'setting', setrole::regrole, setconfig) FROM pg_db_role_setting
            )
            SELECT md5(string_agg(line, E'\\n' ORDER BY line)) AS hash
            FROM lines
            """
        ).decode("hash")
    }
}
