import Foundation

/// What the job made of one purchase in all nights.
struct NightsJudgement {
    private let purchase: NightsPurchase
    private let settings: NightsSettings
    private let seen: [NightsObservation]
    private let isUnanswered: Bool
    /// The nights on which it was open, past its grace, and evident.
    private let lostNights: [Int]

    init(_ purchase: NightsPurchase, seen: [NightsObservation], settings: NightsSettings, isUnanswered: Bool) {
        self.isUnanswered = isUnanswered
        self.purchase = purchase
        self.settings = settings
        self.seen = seen
        lostNights = (1...settings.nights).filter { number in
            let night = settings.moment(ofNight: number)
            return Self.isDue(purchase, night) && purchase.evidentAt.map { $0 <= night } ?? false
        }
    }

    private static func isDue(_ purchase: NightsPurchase, _ night: Date) -> Bool {
        purchase.isOpen(at: night) && purchase.purchasedAt + NightsTally.grace <= night
    }

    private var isLost: Bool { !lostNights.isEmpty }

    /// Lost on the last night as well.
    private var isLostInTheEnd: Bool { lostNights.last == settings.nights }

    private var isWaiting: Bool { isLost && seen.isEmpty && isUnanswered }

    private var isMissed: Bool {
        isLost && !isWaiting && (seen.isEmpty || (isLostInTheEnd && seen.last?.night != settings.nights))
    }

    private var isFalse: Bool {
        seen.contains { !Self.isDue(purchase, settings.moment(ofNight: $0.night)) }
    }

    private var wronglyOwned: [NightsObservation] {
        seen.filter { !$0.owners.isEmpty && !$0.owners.contains(purchase.userID) }
    }

    /// The order it was matched to isn't its own, or is not among those that it may pay for.
    private var isWronglyOrdered: Bool {
        seen.contains { observation in
            guard !observation.orders.isEmpty else { return false }
            guard let order = purchase.orderID else { return observation.orders.count == 1 }
            return !observation.orders.contains(order)
        }
    }

    func add(to counts: inout NightsTally.Counts) {
        counts.purchases += 1
        if isLost { counts.lost += 1 }
        if isMissed { counts.missed += 1 }
        if isWaiting { counts.waiting += 1 }
        if !isLost, purchase.evidentAt == nil, Self.isDue(purchase, settings.end) { counts.untold += 1 }
        if isFalse { counts.falseAlarms += 1 }
        if !wronglyOwned.isEmpty { counts.wrongOwner += 1 }
        if wronglyOwned.contains(where: \.isHigh) { counts.wronglyHigh += 1 }
        if isWronglyOrdered { counts.wrongOrder += 1 }
        guard isLost, let first = seen.first, !isMissed else { return }
        counts.found += 1
        if !isLostInTheEnd { counts.mended += 1 }
        counts.days.append(
            settings.moment(ofNight: first.night).timeIntervalSince(purchase.purchasedAt) / NightsSettings.day)
        counts.nightsLate = max(counts.nightsLate, first.night - (lostNights.first ?? first.night))
    }

    var faults: [String] {
        [
            isMissed ? "missed" : nil, isFalse ? "false alarm" : nil,
            wronglyOwned.contains(where: \.isHigh) ? "wrong owner with likelihood high" : nil,
            isWronglyOrdered ? "wrong order" : nil,
        ].compactMap(\.self)
    }
}
