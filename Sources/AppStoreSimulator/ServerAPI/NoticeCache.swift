import Synchronization

/// What each app was or will be told, made once for the records as they are: a history of many pages sorts it once.
/// It holds what is still to come, so that a clock that goes on changes nothing of it.
final class NoticeCache: Sendable {
    private struct Key: Hashable {
        let bundleID: String
        let environment: StoreEnvironment
    }

    private struct Kept {
        var version = -1
        var lists: [Key: [StoreNotification]] = [:]
    }

    private let kept = Mutex(Kept())

    /// - Parameter version: of the records.
    func all(
        of bundleID: String, in environment: StoreEnvironment, _ records: StoreRecords, version: Int
    ) -> [StoreNotification] {
        kept.withLock { kept in
            if kept.version != version { kept = Kept(version: version) }
            let key = Key(bundleID: bundleID, environment: environment)
            if let list = kept.lists[key] { return list }
            let purchases = records.purchases(in: environment, bundleID: bundleID)
            let list = StoreNotification.about(purchases, records)
            kept.lists[key] = list
            return list
        }
    }
}
