import AppStoreSimulator
import Foundation

extension World {
    /// The notifications that an app's URL takes at the given moments, each as it was signed.
    func noticesTaken(by bundleID: String, _ isWanted: (Date) -> Bool) -> [String] {
        records.noticesTaken(by: bundleID, seed: settings.seed, at: settings.end, isWanted)
    }
}
