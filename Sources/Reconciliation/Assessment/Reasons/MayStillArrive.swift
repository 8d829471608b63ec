import Foundation

extension ReasonRule {
    /// Apple repeats a notification (App Store Server Notifications V2) after 1, 12, 24, 48 and 72 hours: until 157
    /// hours after the purchase a later night may still mend it. What came by no claim on so many nights is given up.
    static let mayStillArrive = ReasonRule(.mayStillArrive) { matter in
        matter.facts.awaitsNotifications && matter.facts.age < notificationRetries
    }

    private static let notificationRetries: TimeInterval = 157 * 3600
}
