import Synchronization

/// The past and future notifications of each app, computed once for each version of the records, so that a history of
/// many pages sorts them once. As it holds the future ones, a clock that goes on changes nothing in it.
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

    /// - Parameter version: the version of the records.
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
