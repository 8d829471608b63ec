import Foundation

extension ReasonRule {
    /// For some days Apple repeats a notification that the app's server did not take, so a later night may still mend
    /// it. If Apple's history says that it was taken or given up, nothing more comes. If nobody asked Apple, it may
    /// come that long after the purchase.
    static let mayStillArrive = ReasonRule { matter in
        let notices = matter.facts.notices
        guard matter.facts.age < NoticeSending.retryWindow, !notices.isMissing else { return false }
        switch notices.sending {
        case .sent, .failed: return false
        case .retrying: return true
        case nil: return matter.facts.awaitsNotifications
        }
    }
}
