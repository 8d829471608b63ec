public import Foundation
package import Ledger

/// The moment that a run is asked to take for the present.
public enum AsOf: Sendable, Hashable {
    /// That of PostgreSQL's clock.
    case clock
    /// An earlier one, after the last run's.
    case moment(Date)
    /// Any, in a database that was made for replays.
    case replay(Date)

    /// The one that was named.
    package var named: Date? {
        switch self {
        case .clock: nil
        case .moment(let date), .replay(let date): date
        }
    }
}

/// The present, and how this host comes to know it: PostgreSQL's clock is the one that all hosts share, and that the
/// app's servers write their moments by.
package struct Present: Sendable {
    /// What the run takes for the present.
    package let moment: Date
    /// Seconds by which PostgreSQL's clock is ahead of this host's.
    package let offset: TimeInterval

    /// PostgreSQL's clock, now.
    package var clock: Date { Date().addingTimeInterval(offset) }

    /// Seconds: a host's clock that differs by more than the first is warned of, by more than the second a run is
    /// refused.
    package static let tolerated: TimeInterval = 120
    package static let bearable: TimeInterval = 3600

    /// - Throws: `JobError.configuration` if a clock or the moment that was named can't be right: it would purge what
    ///   should be kept, close days that are not over, and put receipts off to a day that nobody sees.
    package init(_ asOf: AsOf, _ time: LedgerTime) throws(JobError) {
        offset = time.offset
        if case .replay(let date) = asOf {
            guard time.isRehearsal else { throw .configuration(Self.notARehearsal) }
            moment = date
            return
        }
        guard abs(offset) <= Self.bearable else { throw .configuration(Self.clocks(time)) }
        moment = asOf.named ?? time.server
        guard moment <= time.server else {
            throw .configuration(
                "\(Self.text(moment)) has not come yet: PostgreSQL's clock says \(Self.text(time.server)). Leave --now "
                    + "away; to rehearse, use a database that was made by “migrate --rehearsal”, and --replay.")
        }
        if let latest = time.latest, moment < latest.asOf {
            let what = asOf == .clock ? "PostgreSQL's clock says \(Self.text(moment))" : "\(Self.text(moment)) is past"
            throw .configuration(
                "\(what), and run \(latest.runID) was as of \(Self.text(latest.asOf)) already. "
                    + (asOf == .clock
                        ? "Set the clock of PostgreSQL's host right, or look in iap.runs whether that run's was wrong: "
                            + "docs/operate.md says what then, under “A clock was wrong”."
                        : "Leave --now away, or name a later moment."))
        }
    }

    /// What to say of a host's clock that is somewhat wrong.
    package var warning: String? {
        guard abs(offset) > Self.tolerated else { return nil }
        let way = offset < 0 ? "ahead of" : "behind"
        return "this host's clock is \(Int(abs(offset).rounded())) seconds \(way) PostgreSQL's, which counts"
    }

    private static let notARehearsal = """
        This database was not made for replays: with another present its books would be closed and its payloads \
        purged for good. Make one with “iap-reconcile migrate --rehearsal”, or leave --replay away.
        """

    private static func clocks(_ time: LedgerTime) -> String {
        "This host's clock says \(text(time.host)), PostgreSQL's \(text(time.server)): nothing was done. Set the wrong "
            + "one right, and run again."
    }

    private static func text(_ date: Date) -> String { date.formatted(.iso8601) }
}
