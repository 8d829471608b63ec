/// The benchmarks, by the names under which each can be run alone, in the order in which they run.
enum Benchmark: String, CaseIterable {
    case appReceipts = "app-receipts"
    case jws, verify, record, report, page
    case emptyNight = "empty-night"
    case hear, night, workers, rough, black, check, server, million

    func run(_ bench: Bench) async throws -> [Measurement] {
        switch self {
        case .appReceipts: try OfflineReceipts.appReceipts()
        case .jws: try OfflineReceipts.signedTransactions()
        case .verify: try await VerifyStage.measure(bench)
        case .record: try await RecordStage.measure(bench)
        case .report: try await ReportStage.measure(bench)
        case .page: try await ReportStage.page(bench)
        case .emptyNight: try await Nights.empty(bench)
        case .hear: try await HearStage.measure(bench)
        case .night: try await NightCost.measure(bench) + Nights.growing(bench)
        case .workers: try await Nights.sharedByWorkers(bench)
        case .rough: try await Nights.onRoughDay(bench)
        case .black: try await BlackTable.nights(bench)
        case .check: try await BlackTable.check(bench)
        case .server: try await AppServer.measure(bench)
        case .million: try await Nights.million(bench)
        }
    }
}

/// Why something can't be measured.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
