import Job
import Ledger
import Verification

/// What a night has before its run has a row.
final class NightStart {
    let options: RunOptions
    let session: LedgerSession
    let services: AppleServices
    /// `nil` if none are fetched.
    let reports: SalesReports?
    let stop: StopSignal
    /// Whether something may be booked by now.
    var isUnderWay = false

    init(
        options: RunOptions, session: LedgerSession, services: AppleServices, reports: SalesReports?, stop: StopSignal
    ) {
        self.options = options
        self.session = session
        self.services = services
        self.reports = reports
        self.stop = stop
    }
}
