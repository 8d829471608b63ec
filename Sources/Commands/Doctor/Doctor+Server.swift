import Ledger

/// What a run relies on in PostgreSQL's server, and in its own role.
extension Doctor {
    static func findings(on found: DatabaseExamination) -> [Finding] {
        [version(found)].compactMap(\.self) + rights(found)
            + [durability(found), collation(found), readOnly(found)].compactMap(\.self)
    }

    private static func rights(_ found: DatabaseExamination) -> [Finding] {
        let grants =
            found.missingRights.isEmpty
            ? Finding("grants", .fine, "the role has the rights that the job needs")
            : Finding(
                "grants", .wrong, "the role lacks \(found.missingRights.joined(separator: ", "))",
                remedy: grantingAgain("connect as iap_job or a member of it"))
        guard found.isTooPowerful else { return [grants] }
        return [
            grants,
            Finding(
                "role", .warning, "the role owns the tables or is a superuser",
                remedy: "Connect as iap_job, which can't change the audit trail."),
        ]
    }

    private static func version(_ found: DatabaseExamination) -> Finding? {
        guard found.serverVersion < 150_000 else { return nil }
        return Finding("version", .wrong, "PostgreSQL is older than 15", remedy: "Use PostgreSQL 15 or newer.")
    }

    private static func durability(_ found: DatabaseExamination) -> Finding? {
        guard found.isVolatile else { return nil }
        return Finding(
            "durability", .warning,
            "PostgreSQL does not wait for its disk (fsync is off): a crash of the host spoils the tables",
            remedy: "Have fsync set on, and the server restarted, before a customer's purchase is in it.")
    }

    /// As after an upgrade of the operating system, or under a copy of the data folder that was made on another:
    /// https://www.postgresql.org/docs/15/sql-altercollation.html#SQL-ALTERCOLLATION-NOTES
    private static func collation(_ found: DatabaseExamination) -> Finding? {
        guard found.isSortedOtherwise else { return nil }
        return Finding(
            "collation", .wrong,
            "the operating system orders text otherwise than when the database's indexes were built, so what they "
                + "hold may not be found: an order may be used twice, a user be owed nothing",
            remedy: "Run REINDEX DATABASE, then ALTER DATABASE … REFRESH COLLATION VERSION.")
    }

    private static func readOnly(_ found: DatabaseExamination) -> Finding? {
        if found.isStandby {
            return Finding(
                "read-only", .wrong, "PostgreSQL takes no changes here: it is a standby",
                remedy: "Connect to the primary server.")
        }
        guard found.isReadOnly else { return nil }
        return Finding(
            "read-only", .wrong, "PostgreSQL takes no changes here: default_transaction_read_only is on",
            remedy: "Have it set off for the role, the database or the server, wherever it was set on.")
    }
}
