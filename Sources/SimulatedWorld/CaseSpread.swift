import AppStoreSimulator

/// What the job said, by the matter that it is about.
struct SortedObservations {
    /// By the index of the matter.
    private(set) var byMatter: [Int: [WorldObservation]] = [:]
    /// Transactions that are no purchase of the world.
    private(set) var strangers: Set<String> = []

    init(_ observations: [WorldObservation], by matters: [WorldMatter]) {
        var places: [String: Int] = [:]
        for (index, matter) in matters.enumerated() {
            for fate in matter.fates { places[fate.purchase.transactionID] = index }
        }
        for observation in observations {
            if let index = places[observation.transactionID] {
                byMatter[index, default: []].append(observation)
            } else {
                strangers.insert(observation.transactionID)
            }
        }
    }
}

/// How cases are spread over customers, and over the first nights of apps, beside the truth.
public struct CaseSpread: Sendable, CustomStringConvertible {
    /// Numbers of customers and cases.
    public struct Sums: Hashable, Sendable {
        /// Customers with a case on any night.
        public var customers = 0
        /// For each customer, the cases of the night with the most.
        public var cases = 0
        /// The most of one customer.
        public var most = 0
        /// Cases on the first night after each app's server was connected.
        public var firstNight = 0
    }

    public private(set) var told = Sums()
    public private(set) var truth = Sums()
    /// Customers with more cases on a night than purchases that they lost.
    public private(set) var overburdened = 0

    init(_ world: World, _ matters: [WorldMatter], _ sorted: SortedObservations) {
        let firstNights = Dictionary(
            uniqueKeysWithValues: World.apps.map { ($0.bundleID, $0.firstNight(world.settings)) })
        var told: [String: [Int: Int]] = [:]
        var truth: [String: [Int: Int]] = [:]
        var most: [String: [Int: Int]] = [:]
        for (index, matter) in matters.enumerated() {
            guard let purchase = matter.fates.first?.purchase, !matter.isOpenToDispute else { continue }
            let nights = (sorted.byMatter[index] ?? []).map(\.night)
            for night in nights { told[purchase.userID, default: [:]][night, default: 0] += 1 }
            let lostNights = matter.lostNights.union(matter.heardNights)
            for night in lostNights { truth[purchase.userID, default: [:]][night, default: 0] += 1 }
            // A customer's history, or a later receipt, may show it sooner than the truth can know.
            let hasKey = world.settings.keys.contains(purchase.bundleID)
            for night in hasKey ? matter.dueNights : lostNights {
                most[purchase.userID, default: [:]][night, default: 0] += 1
            }
            let first = firstNights[purchase.bundleID]
            self.told.firstNight += nights.count { $0 == first }
            self.truth.firstNight += first.map(lostNights.contains) ?? false ? 1 : 0
        }
        self.told.add(told)
        self.truth.add(truth)
        overburdened = told.count { user, nights in
            nights.contains { night, cases in cases > most[user]?[night] ?? 0 }
        }
    }

    public var description: String {
        """
        cases a customer \(told), as the truth has it \(truth), customers with more than they lost \(overburdened)
        first-night cases \(told.firstNight), as the truth has it \(truth.firstNight)
        """
    }
}

extension CaseSpread.Sums: CustomStringConvertible {
    fileprivate mutating func add(_ byCustomer: [String: [Int: Int]]) {
        let sums = byCustomer.values.map { $0.values.max() ?? 0 }
        customers = sums.count
        cases = sums.reduce(0, +)
        most = sums.max() ?? 0
    }

    public var description: String {
        let hundredths = customers == 0 ? 0 : (cases * 100 + customers / 2) / customers
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) (most \(most))"
    }
}
