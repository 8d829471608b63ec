import Foundation

extension PatternRule {
    /// A server that stood still for an hour or more, and came back.
    static let hoursLost = PatternRule { facts in
        let delivered = facts.hours.values.filter(\.isMostlyDelivered).reduce(PurchaseCounts(), +)
        return Stretch.all(in: facts).compactMap { stretch in
            guard stretch.isSurrounded, stretch.counts.standsOut(from: delivered) else { return nil }
            return Pattern(
                .hours, of: facts.bundleID, from: stretch.from, until: stretch.until, stretch.counts)
        }
    }
}

/// Hours in a row in which more was lost than delivered. An hour without a purchase does not interrupt them.
private struct Stretch {
    let from: Date
    var until: Date
    /// Each customer counts once, in however many of the hours they lost something.
    var counts: PurchaseCounts {
        PurchaseCounts(cases: sum.cases, customers: customers.count, delivered: sum.delivered)
    }
    private var sum: PurchaseCounts
    private var customers: Set<Int64>
    /// Whether purchases of an hour before it and of an hour after it were delivered.
    var isSurrounded: Bool { hasBefore && hasAfter }
    private let hasBefore: Bool
    private var hasAfter = false

    private static let hour: TimeInterval = 3600

    static func all(in facts: PatternFacts) -> [Stretch] {
        var stretches: [Stretch] = []
        var isDelivered: Bool?
        for (hour, counts) in facts.hours.sorted(by: { $0.key < $1.key }) {
            let customers = facts.hourlyCustomers[hour] ?? []
            let wasDelivered = isDelivered
            isDelivered = counts.isMostlyDelivered
            if counts.isMostlyDelivered {
                if wasDelivered == false { stretches[stretches.count - 1].hasAfter = true }
            } else if wasDelivered == false {
                stretches[stretches.count - 1].append(counts, customers, at: hour)
            } else {
                stretches.append(
                    Stretch(
                        from: hour, until: hour + Self.hour, sum: counts, customers: customers,
                        hasBefore: wasDelivered == true))
            }
        }
        return stretches
    }

    private mutating func append(_ counts: PurchaseCounts, _ customers: Set<Int64>, at hour: Date) {
        until = hour + Self.hour
        sum = sum + counts
        self.customers.formUnion(customers)
    }
}
