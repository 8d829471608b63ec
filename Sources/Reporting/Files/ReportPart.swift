import Reconciliation

/// One file of a report, or the pages together, written while the findings come. A part without a place for a kind of
/// finding leaves it out.
protocol ReportPart: AnyObject {
    func add(_ lostOrder: ReportedCase) throws
    func add(unusable receipt: TroubledReceipt) throws
    func add(unverified receipt: TroubledReceipt) throws
    func add(_ suspicion: Suspicion) throws
    func add(_ difference: ComparedSales) throws
    /// Puts everything on the disk, as nothing more comes.
    func finish() throws
}

extension ReportPart {
    func add(unusable receipt: TroubledReceipt) throws {}
    func add(unverified receipt: TroubledReceipt) throws {}
    func add(_ suspicion: Suspicion) throws {}
    func add(_ difference: ComparedSales) throws {}
}

/// One of the things that a report lists.
enum Finding: Sendable {
    /// Held only once for all forms that wait to write it.
    indirect case lostOrder(ReportedCase)
    case unusable(TroubledReceipt)
    case unverified(TroubledReceipt)
    case suspicion(Suspicion)
    case difference(ComparedSales)
}

extension ReportPart {
    func add(_ finding: Finding) throws {
        switch finding {
        case .lostOrder(let found): try add(found)
        case .unusable(let receipt): try add(unusable: receipt)
        case .unverified(let receipt): try add(unverified: receipt)
        case .suspicion(let suspicion): try add(suspicion)
        case .difference(let difference): try add(difference)
        }
    }
}

/// What every part of a report knows about it.
struct ReportContext: Sendable {
    let run: RunReport
    let folder: ReportFolder
    let language: ReportLanguage
    let programVersion: String

    var formats: Formats { Formats(timeZone: run.timeZone) }

    /// The name that the report's folder has, unless another run's has it.
    var name: String {
        let day = formats.day(run.now)
        return run.runID.map { "\(day)-run-\($0)" } ?? "\(day)-dry-run"
    }
}
