/// A number of transactions, their units, and a hash total over their ids, which shows if one transaction took
/// another's place.
public struct Tally: Hashable, Sendable {
    public var transactions: Int
    /// The sum of the quantities.
    public var units: Int
    /// The exclusive or of a 64-bit hash of each transaction id: adding and taking away are the same operation.
    public var hash: Int64

    public init(transactions: Int = 0, units: Int = 0, hash: Int64 = 0) {
        self.transactions = transactions
        self.units = units
        self.hash = hash
    }

    public static func + (a: Tally, b: Tally) -> Tally {
        Tally(transactions: a.transactions + b.transactions, units: a.units + b.units, hash: a.hash ^ b.hash)
    }

    public static func - (a: Tally, b: Tally) -> Tally {
        Tally(transactions: a.transactions - b.transactions, units: a.units - b.units, hash: a.hash ^ b.hash)
    }

    public static func += (a: inout Tally, b: Tally) { a = a + b }
}

/// The figures by which a run proves that it lost and doubled nothing.
public struct ControlTotals: Hashable, Sendable {
    /// The transactions that verification gave, and where each of them belongs.
    public var verified = Tally()
    public var newlyWhite = Tally()
    public var alreadyWhite = Tally()
    public var alreadyBlack = Tally()
    public var excluded = Tally()

    /// The white table when the run before closed its books, what moved since, and the white table now.
    public var openingWhite = Tally()
    public var new = Tally()
    public var claimed = Tally()
    public var resolved = Tally()
    public var refunded = Tally()
    public var closingWhite = Tally()

    public init() {}

    /// The equations that do not hold; none when the totals balance.
    public var imbalances: [Imbalance] {
        var found: [Imbalance] = []
        let outcomes = newlyWhite + alreadyWhite + alreadyBlack + excluded
        if outcomes != verified {
            found.append(Imbalance(equation: .verified, left: verified, right: outcomes))
        }
        let expected = openingWhite + new - claimed - resolved - refunded
        if expected != closingWhite {
            found.append(Imbalance(equation: .white, left: expected, right: closingWhite))
        }
        return found
    }
}

/// An equation of the control totals that does not hold, with its two sides.
public struct Imbalance: Hashable, Sendable, CustomStringConvertible {
    /// What must hold of the control totals.
    public enum Equation: String, Hashable, Sendable {
        case verified = "verified = newly white + already white + already black + excluded"
        case white = "opening white + new − claimed − resolved − refunded = closing white"
    }

    public let equation: Equation
    public let left: Tally
    public let right: Tally

    public init(equation: Equation, left: Tally, right: Tally) {
        self.equation = equation
        self.left = left
        self.right = right
    }

    public var description: String {
        """
        \(equation.rawValue) does not hold: \(left.transactions) transactions, \(left.units) units, hash \(left.hash) \
        against \(right.transactions) transactions, \(right.units) units, hash \(right.hash)
        """
    }
}
