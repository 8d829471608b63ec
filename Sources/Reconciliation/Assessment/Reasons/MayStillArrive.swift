import Foundation

extension ReasonRule {
    /// Apple repeats a notification that the app's server did not take, after 1, 12, 24, 48 and 72 hours: until then a
    /// later night may still mend it. Where Apple's history says that it was taken, or given up, nothing more comes; where
    /// nobody asked Apple, it may come for 157 hours after the purchase.
    static let mayStillArrive = ReasonRule(.mayStillArrive) { matter in
        let notices = matter.facts.notices
        guard matter.facts.age < NoticeSending.retries, !notices.isMissing else { return false }
        switch notices.sending {
        case .sent, .failed: return false
        case .retrying: return true
        case nil: return matter.facts.awaitsNotifications
        }
    }
}
