import AppStoreSimulator
import Foundation

/// What one case should be about: a purchase, or a whole subscription if the app's server keeps entitlements.
struct WorldMatter {
    /// The oldest first.
    let fates: [Fate]
    /// The nights on which something of it was lost.
    let lostNights: Set<Int>
    /// The nights on which only Apple's notifications told of what was lost of it.
    let heardNights: Set<Int>
    /// The nights on which it was lost, whether anything told of that or not.
    let dueNights: Set<Int>

    init(_ fates: [Fate]) {
        self.fates = fates.sorted { $0.purchase.purchasedAt < $1.purchase.purchasedAt }
        lostNights = fates.reduce(into: []) { $0.formUnion($1.lostNights) }
        heardNights = fates.reduce(into: []) { $0.formUnion($1.heardNights) }
        dueNights = fates.reduce(into: []) { $0.formUnion($1.dueNights) }
    }

    /// All matters of a world.
    static func all(in world: World) -> [WorldMatter] {
        let truth = Fates(world)
        let grouped = Dictionary(grouping: world.purchases) { purchase in
            purchase.isEntitled ? purchase.transaction.originalID : purchase.transactionID
        }
        return grouped.values.map { purchases in WorldMatter(purchases.map(truth.fate)) }
    }

    var isOpenToDispute: Bool { fates.contains(where: \.isOpenToDispute) }
}

/// What the job made of one matter over all nights.
struct WorldJudgement {
    private let matter: WorldMatter
    private let settings: WorldSettings
    private let seen: [WorldObservation]
    private let unanswered: Set<String>
    let purchase: WorldPurchase

    /// - Parameter seen: what the job said of any of its purchases, in the order of the nights.
    init(
        _ matter: WorldMatter, _ purchase: WorldPurchase, seen: [WorldObservation], settings: WorldSettings,
        unanswered: Set<String>
    ) {
        self.matter = matter
        self.purchase = purchase
        self.seen = seen
        self.settings = settings
        self.unanswered = unanswered
    }

    private var isLost: Bool { !matter.lostNights.isEmpty }

    /// Whether only Apple's notifications told that it is lost, and no receipt ever showed it.
    private var isOnlyTold: Bool {
        !isLost && matter.fates.contains { !$0.heardNights.isEmpty && $0.purchase.evidentAt == nil }
    }

    /// The lost transactions, without those for which Apple has not answered yet.
    private func lost(_ nights: KeyPath<Fate, Set<Int>> = \.lostNights, on night: Int? = nil) -> Set<String> {
        let lost = matter.fates.filter { fate in
            night.map(fate[keyPath: nights].contains) ?? !fate[keyPath: nights].isEmpty
        }
        return Set(lost.map(\.purchase.transactionID)).subtracting(unanswered)
    }

    private var toldLast: Set<String> { Set(seen.filter { $0.night == settings.nights }.flatMap(\.names)) }

    /// Whether a loss that Apple notified was missed.
    private var isUnheard: Bool {
        !isLost && seen.isEmpty && !lost(\.heardNights).isEmpty
            || !lost(\.heardNights, on: settings.nights).isSubset(of: toldLast)
    }

    private var isWaiting: Bool { isLost && seen.isEmpty && lost().isEmpty }

    private var isMissed: Bool {
        guard isLost, !isWaiting else { return false }
        return seen.isEmpty || !lost(on: settings.nights).isSubset(of: toldLast)
    }

    private var falseNames: [(fate: Fate, night: Int)] {
        let fates = Dictionary(uniqueKeysWithValues: matter.fates.map { ($0.purchase.transactionID, $0) })
        return seen.flatMap { observation in
            observation.names.compactMap { name in fates[name].map { ($0, observation.night) } }
        }.filter { fate, night in !fate.dueNights.contains(night) }
    }

    private var wronglyOwned: [WorldObservation] {
        seen.filter { !$0.owners.isEmpty && !$0.owners.contains(purchase.userID) }
    }

    /// Whether the order it was matched to isn't its own, or is not among those that it may pay for.
    private var isWronglyOrdered: Bool {
        seen.contains { observation in
            guard !observation.orders.isEmpty else { return false }
            guard let order = purchase.orderID else { return observation.orders.count == 1 }
            return !observation.orders.contains(order)
        }
    }

    /// Whether there was more than one case on the same night.
    private var isToldTwice: Bool { Set(seen.map(\.night)).count < seen.count }

    /// Whether a subscription was called `high` on a night on which its customer had what was paid for.
    private var isOverstated: Bool {
        purchase.isEntitled
            && seen.contains { observation in
                observation.isHigh && !matter.fates.contains { $0.isLackedNow(observation.night, settings) }
            }
    }

    func add(to counts: inout WorldTally.Counts) {
        counts.purchases += 1
        if isLost { counts.lost += 1 }
        if isMissed { counts.missed += 1 }
        if isWaiting { counts.waiting += 1 }
        if isOnlyTold { counts.onlyTold += 1 }
        if isOnlyTold, !isUnheard { counts.heard += 1 }
        if isUnheard { counts.unheard += 1 }
        let isTold = isLost || !matter.heardNights.isEmpty
        if !isTold, matter.dueNights.contains(settings.nights) { counts.untold += 1 }
        if !falseNames.isEmpty { counts.falseAlarms += 1 }
        if falseNames.contains(where: { $0.fate.purchase.isGranted }) { counts.falseOfGranted += 1 }
        if !wronglyOwned.isEmpty { counts.wrongOwner += 1 }
        if wronglyOwned.contains(where: \.isHigh) { counts.wronglyHigh += 1 }
        if isWronglyOrdered { counts.wrongOrder += 1 }
        if isToldTwice { counts.toldTwice += 1 }
        if isOverstated { counts.overstated += 1 }
        guard isLost, let first = seen.first, !isMissed else { return }
        counts.found += 1
        if !matter.lostNights.contains(settings.nights) { counts.mended += 1 }
        // What was paid before the world began could not be found any sooner.
        let paidAt = max(purchase.purchasedAt, settings.begin)
        counts.days.append(settings.moment(ofNight: first.night).timeIntervalSince(paidAt) / WorldSettings.day)
        counts.nightsLate = max(counts.nightsLate, first.night - (matter.lostNights.min() ?? first.night))
    }

    var faults: [String] {
        [
            isMissed ? "missed" : nil, isUnheard ? "told by Apple, and not found" : nil,
            falseNames.isEmpty ? nil : "false alarm",
            wronglyOwned.contains(where: \.isHigh) ? "wrong owner with likelihood high" : nil,
            isWronglyOrdered ? "wrong order" : nil, isToldTwice ? "several cases of one purchase" : nil,
            isOverstated ? "likelihood high though there is access" : nil,
        ].compactMap(\.self)
    }
}
