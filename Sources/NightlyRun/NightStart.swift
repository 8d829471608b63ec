import Job
import Ledger
import Verification

/// What a night has before its run has a row.
struct NightStart {
    let options: RunOptions
    let session: LedgerSession
    let services: AppleServices
    /// `nil` if none are fetched.
    let reports: SalesReports?
    let stop: StopSignal
    /// Whether something may be booked by now.
    var isUnderWay = false
}
