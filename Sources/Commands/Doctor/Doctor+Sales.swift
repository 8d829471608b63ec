import Foundation
import Job
import Verification

extension Doctor {
    /// Whether Apple hands out sales reports for the key: that of the day before yesterday is asked for, and not kept.
    func sales() async -> [Finding] {
        guard let access = settings.sales else { return [] }
        let name = "sales reports of vendor \(access.vendorNumber)"
        do {
            let reports = try AppleServices(settings.apple, apps: []).salesReports(access)
            let day = Date(timeIntervalSinceNow: -2 * 86_400).formatted(.iso8601.year().month().day())
            switch try await reports.report(of: day) {
            case .report: return [Finding(name, .fine, "Apple hands them out; that of \(day) is there")]
            case .notThere: return [Finding(name, .fine, "Apple takes the key; it has none of \(day)")]
            case .needsConfiguration(let what):
                return [Finding(name, .wrong, what, remedy: "Mend the section [sales].")]
            case .problem(let why):
                return [
                    Finding(name, .warning, why, remedy: "Check the way out to \(settings.apple.appStoreConnect).")
                ]
            }
        } catch {
            return [Finding(name, .wrong, "\(error)", remedy: "Mend the section [sales].")]
        }
    }
}
