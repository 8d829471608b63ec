import PostgreSQL
import Reconciliation

extension IntegrityCheck {
    /// An event from which a person's data was erased says what the erasure left, and a sealed event tells of that.
    static let changedEvents: SQL = """
        SELECT 'event ' || seals.event_id AS example
        FROM audit.seals
        LEFT JOIN events USING (event_id)
        WHERE events.event_id IS NULL
            OR audit.event_digest(events) <> coalesce(seals.erased_digest, seals.digest)
            OR (
                seals.erased_event_id IS NOT NULL AND NOT EXISTS (
                    SELECT FROM events AS erasure
                    WHERE erasure.event_id = seals.erased_event_id AND erasure.kind = 'erased'))
        """

    static let slippedInEvents: SQL = """
        SELECT 'event ' || events.event_id AS example
        FROM events
        LEFT JOIN audit.seals USING (event_id)
        WHERE seals.event_id IS NULL AND events.event_id <= (SELECT audit.last_final_event())
        """

    static let brokenLinks: SQL = """
        SELECT 'event ' || event_id AS example
        FROM (
            SELECT
                event_id, position, digest, link,
                lag(position, 1, 0::bigint) OVER (ORDER BY position) AS position_before,
                lag(link, 1, audit.first_link()) OVER (ORDER BY position) AS link_before
            FROM audit.seals
        ) AS chained
        WHERE position <> position_before + 1 OR link <> sha256(link_before || digest)
        UNION ALL
        SELECT 'the end of ' || sealed_at
        FROM audit.sealings
        LEFT JOIN audit.seals USING (position)
        WHERE sealings.position > 0 AND seals.link IS DISTINCT FROM sealings.link
        """
}
