import AppStoreSimulator
import Foundation

/// The plan of a subscription: what Apple charges for, and when its mishap happens.
struct SubscriptionCourse {
    /// The oldest first.
    var periods: [SimulatedTransaction] = []
    /// The first period that ends once the app's server is connected.
    var turn: Int?
    /// When a period was replaced by a higher product of its group, by the period's index.
    var upgrades: [Int: Date] = [:]

    /// The mishap, if it happened in time for this world, or what happened instead.
    func label(_ mishap: Mishap, in app: WorldApp, _ settings: WorldSettings) -> Mishap {
        if hasMet(mishap, app.connectedAt(settings), settings) { return mishap }
        let forgets = app.forgets(settings)
        return periods.contains { forgets?.contains($0.purchasedAt) ?? false } ? .forgottenRenewal : .renewed
    }

    private func hasMet(_ mishap: Mishap, _ connectedAt: Date, _ settings: WorldSettings) -> Bool {
        switch mishap {
        case .renewed: false
        case .lastPeriodLacking: lastBefore(connectedAt).map { $0 > 0 } ?? false
        case .refundedPeriod: revokedAt(connectedAt, settings).map { $0 <= settings.end } ?? false
        case .missedRenewal, .upgraded, .crossgraded, .billingRetry, .billingGrace: hasTurned
        default: true
        }
    }

    private var hasTurned: Bool { turn.map { periods.count > $0 + 1 } ?? false }

    private func lastBefore(_ moment: Date) -> Int? { periods.lastIndex { $0.purchasedAt < moment } }

    /// Whether the app's server misses a period.
    func isLacking(_ index: Int, _ mishap: Mishap, _ connectedAt: Date) -> Bool {
        switch mishap {
        case .missedRenewal: index == turn.map { $0 + 1 }
        case .lastPeriodLacking: index == lastBefore(connectedAt)
        default: false
        }
    }

    /// When the app's server withdraws access to the period that was refunded ten minutes before, with no night in
    /// between: no job could know both sooner.
    func revokedAt(_ connectedAt: Date, _ settings: WorldSettings) -> Date? {
        guard let turn, let end = periods[turn].expiresAt else { return nil }
        let moment = max(periods[turn].purchasedAt, connectedAt) + 1.3 * WorldSettings.day
        let sinceNight = moment.timeIntervalSince(settings.end).remainder(dividingBy: WorldSettings.day)
        let revokedAt = abs(sinceNight) < 900 ? moment + 1_800 : moment
        return revokedAt < end ? revokedAt : nil
    }
}
