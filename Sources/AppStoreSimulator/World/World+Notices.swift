import Foundation

extension World {
    /// What Apple posts to an app's URL, and the URL takes, at such moments: each as it was signed.
    func noticesTaken(by bundleID: String, _ isWanted: (Date) -> Bool) -> [String] {
        let records = records
        guard let app = records.apps[bundleID] else { return [] }
        let purchases = records.purchases(in: .production, bundleID: bundleID)
        let taken = StoreNotification.about(purchases, records).filter { notice in
            records.notices.takenAt(notice.hash, signedAt: notice.at).map(isWanted) ?? false
        }
        let api = ServerAPI(
            signer: PayloadSigner(ReceiptSigner(seed: settings.seed).keys.payloads), records: records, app: app,
            environment: .production, now: settings.end)
        return taken.map { api.signed($0) }
    }
}
