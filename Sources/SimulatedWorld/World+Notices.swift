import AppStoreSimulator
import Foundation

extension World {
    /// What Apple posts to an app's URL, and the URL takes, at such moments: each as it was signed.
    func noticesTaken(by bundleID: String, _ isWanted: (Date) -> Bool) -> [String] {
        records.noticesTaken(by: bundleID, seed: settings.seed, at: settings.end, isWanted)
    }
}
