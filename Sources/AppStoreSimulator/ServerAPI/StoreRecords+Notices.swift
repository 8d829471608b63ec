package import Foundation

extension StoreRecords {
    /// The notifications that an app's URL in production takes at the given moments, each as it was signed.
    ///
    /// - Parameters:
    ///   - seed: the seed of the store.
    ///   - now: the store's present moment.
    package func noticesTaken(
        by bundleID: String, seed: UInt64, at now: Date, _ isWanted: (Date) -> Bool
    ) -> [String] {
        guard let app = apps[bundleID] else { return [] }
        let taken = StoreNotification.about(purchases(in: .production, bundleID: bundleID), self).filter { notice in
            notices.takenAt(notice.hash, signedAt: notice.at).map(isWanted) ?? false
        }
        let api = ServerAPI(
            signer: PayloadSigner(ReceiptSigner(seed: seed).keys.payloads), records: self, app: app,
            environment: .production, now: now)
        return taken.map { api.signed($0) }
    }
}
