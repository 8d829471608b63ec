import AppStoreSimulator
import Foundation

/// Subscriptions. Some are years old when the world begins, and the app's server has granted their periods all along.
extension Life {
    /// How long Apple keeps a subscription going that it can't charge for: the least that apps choose.
    static let billingGrace: TimeInterval = 6 * WorldSettings.day

    mutating func planSubscriber() {
        guard random.happens(app.subscriptions == .claims ? 0.1 : 0.35) else { return }
        let mishap = random.happens(0.35) ? random.pick(Mishap.ofSubscriptions(app.subscriptions)) : .renewed
        plan(
            mishap, by: customer.userID,
            at: settings.begin + seconds(60...Double(settings.nights) * WorldSettings.day - 120))
    }

    /// Plans a subscription that begins at the moment, or began in the years before.
    mutating func planSubscription(_ mishap: Mishap, by user: String, at moment: Date) {
        let isHigher = mishap != .upgraded && random.happens(0.3)
        let product = isHigher ? catalog.higher ?? catalog.subscription : catalog.subscription
        let days = min(60 * Double(product.days), 1_100)
        let isOld = random.happens(0.65)
        let start = isOld ? settings.begin - seconds(WorldSettings.day...days * WorldSettings.day) : moment
        let course = course(mishap, product, from: start)
        let label = course.label(mishap, in: app, settings)
        var numbers: [Number] = []
        for period in course.periods {
            let number = purchase(period, label, by: user, isOwed: !period.isFamilyShared)
            plan(.pay(number), at: period.purchasedAt)
            numbers.append(number)
        }
        for (index, replacedAt) in course.upgrades { plan(.upgrade(numbers[index]), at: replacedAt) }
        switch app.subscriptions {
        case .claims: planClaims(of: course, numbers, label, by: user)
        case .entitlements:
            planLaunches(of: course, numbers, by: user)
            planGrants(of: course, numbers, label, by: user)
        }
    }

    // MARK: What is paid

    /// The periods of a subscription, up to the world's end.
    private mutating func course(
        _ mishap: Mishap, _ product: CatalogProduct, from start: Date
    ) -> SubscriptionCourse {
        var product = product
        var course = SubscriptionCourse()
        // A quarter ends at some time.
        let last = random.happens(0.25) ? start + seconds(0...settings.end.timeIntervalSince(start)) : settings.end
        let originalID = nextID()
        var begin = start
        while begin <= min(last, settings.end) {
            let isFirst = course.periods.isEmpty
            let isTrial = isFirst && mishap == .trial
            let days = isTrial ? 7 : Double(product.days)
            let period = SimulatedTransaction(
                id: isFirst ? originalID : nextID(), originalID: originalID, productID: product.id, purchasedAt: begin,
                originalPurchasedAt: start, expiresAt: begin + days * WorldSettings.day, isTrial: isTrial,
                isIntroductory: isFirst && mishap == .introductoryOffer,
                isFamilyShared: mishap == .familySubscription, price: product.price)
            course.periods.append(period)
            begin = turn(&course, &product, mishap, after: period)
        }
        return course
    }

    /// Plans what happens at the end of a period, or before it; returns when the next one begins.
    private mutating func turn(
        _ course: inout SubscriptionCourse, _ product: inout CatalogProduct, _ mishap: Mishap,
        after period: SimulatedTransaction
    ) -> Date {
        let end = period.expiresAt ?? .distantFuture
        let index = course.periods.count - 1
        // Once, at the first end that the job could notice.
        let connectedAt = app.connectedAt(settings)
        guard course.turn == nil, end > connectedAt else { return end }
        course.turn = index
        switch mishap {
        case .upgraded:
            guard let higher = catalog.higher else { return end }
            let begin = max(period.purchasedAt, connectedAt)
            let replacedAt = begin + seconds(3_600...max(3_600, end.timeIntervalSince(begin) / 2))
            course.upgrades[index] = replacedAt
            product = higher
            return replacedAt
        case .crossgraded:
            product = product == catalog.subscription ? catalog.higher ?? product : catalog.subscription
            return end
        case .billingRetry, .billingGrace:
            return end + seconds(WorldSettings.day...4 * WorldSettings.day)
        case .refundedPeriod: return .distantFuture
        default: return end
        }
    }

    // MARK: What the app's server hears and says

    /// When a period reaches the server: soon, and before the next night, which would otherwise hear of it from Apple.
    private mutating func arrival(of period: SimulatedTransaction) -> Date {
        let night = settings.moment(ofNight: settings.nightRun(from: period.purchasedAt))
        return max(period.purchasedAt, min(period.purchasedAt + seconds(5...2_000), night - 60))
    }

    private func isOfThisWorld(_ period: SimulatedTransaction) -> Bool { period.purchasedAt >= settings.begin }

    /// The client hands each period in as it begins. The server claims it, unless the mishap makes it miss that one.
    private mutating func planClaims(
        of course: SubscriptionCourse, _ numbers: [Number], _ mishap: Mishap, by user: String
    ) {
        let connectedAt = app.connectedAt(settings)
        for (index, period) in course.periods.enumerated() where isOfThisWorld(period) {
            let arrival = arrival(of: period)
            plan(.upload(by: user, for: numbers[index], order: nil), at: arrival)
            guard !course.isLacking(index, mishap, connectedAt) else { continue }
            plan(.deliver(numbers[index], to: user, order: nil), at: arrival + seconds(2...40))
        }
    }

    /// The client hands in each period of this world, and the older ones at a launch of the first days.
    private mutating func planLaunches(of course: SubscriptionCourse, _ numbers: [Number], by user: String) {
        for (number, period) in zip(numbers, course.periods) where isOfThisWorld(period) {
            plan(.upload(by: user, for: number, order: nil), at: arrival(of: period))
        }
        guard course.periods.first.map({ !isOfThisWorld($0) }) ?? false else { return }
        let launch = launch(after: settings.begin, within: 60...3 * WorldSettings.day)
        plan(.upload(by: user, for: nil, order: nil), at: launch)
    }

    /// The server extends its grant with each period, on Apple's word and not the client's. When it is connected, it
    /// says what it has granted by then.
    private mutating func planGrants(
        of course: SubscriptionCourse, _ numbers: [Number], _ mishap: Mishap, by user: String
    ) {
        guard let originalID = course.periods.first?.originalID else { return }
        let connectedAt = app.connectedAt(settings)
        let revokedAt = mishap == .refundedPeriod ? course.revokedAt(connectedAt, settings) : nil
        var before: Date?
        for (index, period) in course.periods.enumerated() where !course.isLacking(index, mishap, connectedAt) {
            let granted = moment(ofGrant: period)
            guard let end = period.expiresAt, granted < revokedAt ?? .distantFuture else { continue }
            if granted < connectedAt {
                before = end
            } else {
                plan(.grant(originalID, to: user, until: end), at: granted)
            }
        }
        if let before {
            plan(.grant(originalID, to: user, until: before), at: connectedAt + seconds(1...600))
        }
        planEnd(of: course, numbers, mishap, by: user)
    }

    /// The moment of a grant. A server that forgets makes up for it afterwards.
    private mutating func moment(ofGrant period: SimulatedTransaction) -> Date {
        let granted = period.purchasedAt + seconds(5...2_000)
        guard let forgets = app.forgets(settings), forgets.contains(period.purchasedAt) else { return granted }
        return forgets.upperBound + seconds(1...7_200)
    }

    /// Plans the end of the first period that ends in this world, if it does not simply end.
    private mutating func planEnd(
        of course: SubscriptionCourse, _ numbers: [Number], _ mishap: Mishap, by user: String
    ) {
        guard let turn = course.turn, let end = course.periods[turn].expiresAt else { return }
        let originalID = course.periods[turn].originalID
        if mishap == .billingGrace {
            plan(.grant(originalID, to: user, until: end + Self.billingGrace), at: end)
        }
        if mishap == .refundedPeriod, let revokedAt = course.revokedAt(app.connectedAt(settings), settings) {
            plan(.refund(numbers[turn]), at: revokedAt - 600)
            plan(.revoke(originalID), at: revokedAt)
        }
    }
}
