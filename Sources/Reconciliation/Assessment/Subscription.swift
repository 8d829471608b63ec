/// A subscription with paid periods that went by, or go by now, without access. What is owed is access from one time to
/// another, whatever the number of periods.
public struct Subscription: Hashable, Sendable {
    /// A paid period that no entitlement covered when it should have.
    public struct Period: Hashable, Sendable {
        public let id: TransactionID
        /// Whether it goes on now.
        public let isRunning: Bool
        /// Whether it was free.
        public let isTrial: Bool
        /// Whether it is covered by a grant that came after it was over.
        public let isGrantedLate: Bool

        public init(id: TransactionID, isRunning: Bool, isTrial: Bool, isGrantedLate: Bool) {
            self.id = id
            self.isRunning = isRunning
            self.isTrial = isTrial
            self.isGrantedLate = isGrantedLate
        }
    }

    /// At least one, the oldest first.
    public let periods: [Period]

    public init(periods: [Period]) {
        self.periods = periods
    }

    /// What its customer lacks.
    public enum Lack: Hashable, Sendable {
        /// Paid now, and without access.
        case access
        /// Paid once, and without access then.
        case pastAccess
        /// The same, and access was granted since.
        case grantedLate
        /// Nothing was paid.
        case trial
    }

    public var lack: Lack {
        let paid = periods.filter { !$0.isTrial }
        if paid.isEmpty { return .trial }
        if paid.contains(where: \.isRunning) { return .access }
        return paid.allSatisfy(\.isGrantedLate) ? .grantedLate : .pastAccess
    }
}
