public import AppStoreSimulator
public import Foundation

/// The settings of a world: the same settings make the same world, in any process.
public struct WorldSettings: Hashable, Sendable {
    static let day: TimeInterval = 86_400
    /// Three in the morning in Shanghai: the first night of a world for which no other moment is given.
    private static let firstNight = Date(timeIntervalSince1970: 1_790_967_600)
    /// The default share of the purchases to which something unusual happens.
    public static let mishapShare = 0.12

    public let seed: UInt64
    public let customers: Int
    /// How many days the world lasts; each ends with a night.
    public let nights: Int
    /// The moment of the last night's run, in whole seconds.
    public let end: Date
    /// The nights on which the job is run.
    let runs: ClosedRange<Int>
    /// The share of the purchases to which something unusual happens.
    let mishapShare: Double
    /// Whether all customers are of the app that claims all its deliveries: then the ledger does not depend on the
    /// night on which Apple told of a purchase, as it does if grants are booked.
    let claimsOnly: Bool
    /// The bundle ids of the apps whose owner has a key for the App Store Server API: Apple tells them of their
    /// purchases by itself, and refunds some that were delivered.
    public let keys: Set<String>
    /// Whether these apps have no key, and their servers hand on what Apple posts to their URLs.
    public var handsNoticesOn = false

    /// Makes a world in which the job is run every night.
    ///
    /// - Parameters:
    ///   - since: the first of these nights; there is none before it.
    ///   - now: the moment of the last night; by default the first is always the same.
    public init(
        seed: UInt64, customers: Int, nights: Int, since: Int = 1, now: Date? = nil, keys: Set<String> = []
    ) throws(SimulatorError) {
        try self.init(
            seed: seed, customers: customers, nights: nights, runs: since,
            end: now ?? Self.firstNight + Double(nights - 1) * Self.day, mishapShare: Self.mishapShare,
            claimsOnly: false, keys: keys)
    }

    /// Makes a world of some days, after which the job is run for the first time.
    ///
    /// - Parameter now: the moment of that night.
    public init(
        seed: UInt64, customers: Int, days: Int, now: Date, mishapShare: Double = Self.mishapShare,
        claimsOnly: Bool = false, keys: Set<String> = []
    ) throws(SimulatorError) {
        try self.init(
            seed: seed, customers: customers, nights: days, runs: days, end: now, mishapShare: mishapShare,
            claimsOnly: claimsOnly, keys: keys)
    }

    private init(
        seed: UInt64, customers: Int, nights: Int, runs first: Int, end: Date, mishapShare: Double,
        claimsOnly: Bool, keys: Set<String>
    ) throws(SimulatorError) {
        guard customers >= 0, customers <= 1_000_000 else {
            throw .invalidOption("a world has from 0 to 1000000 customers")
        }
        guard nights >= 1, nights <= 366 else { throw .invalidOption("a world lasts from 1 to 366 days") }
        guard (1...nights).contains(first) else { throw .invalidOption("the first night is one of the world's") }
        if let stranger = keys.sorted().first(where: { key in !World.apps.contains { $0.bundleID == key } }) {
            throw .invalidOption("\(stranger) is no app of a world")
        }
        guard (0...1).contains(mishapShare) else { throw .invalidOption("a share is from 0 to 1") }
        self.seed = seed
        self.customers = customers
        self.nights = nights
        self.end = Date(timeIntervalSince1970: end.timeIntervalSince1970.rounded(.down))
        runs = first...nights
        self.mishapShare = mishapShare
        self.claimsOnly = claimsOnly
        self.keys = keys
    }

    // MARK: Days and nights

    /// The moment of a night, which ends the day with that number. The first is 1; 0 is the world's beginning.
    public func moment(ofNight number: Int) -> Date {
        end.addingTimeInterval(-Double(nights - number) * Self.day)
    }

    var begin: Date { moment(ofNight: 0) }

    /// The day in which something happens.
    func day(of moment: Date) -> Int {
        Int((moment.timeIntervalSince(begin) / Self.day).rounded(.up))
    }

    /// The first night at or after the moment on which the job is run; one past the last if there is none.
    func nightRun(from moment: Date) -> Int {
        max(runs.lowerBound, day(of: moment))
    }

    /// Whether some deliveries are forged: only if nights follow on which Apple can be asked.
    var hasForgeries: Bool { runs.lowerBound == 1 && !keys.isEmpty && !handsNoticesOn }

    // MARK: What all customers meet with

    /// What becomes of Apple's notifications if apps have keys. For some days the apps' URL takes none of them, but
    /// Apple keeps them in the history, where a server that was down finds them.
    var notices: NoticePolicy {
        var policy = NoticePolicy()
        guard !keys.isEmpty else { return policy }
        policy.missingShare = 0.03
        policy.delayedShare = 0.04
        policy.mostDelay = 1_800
        let deafFrom = begin + Double(nights) / 3 * Self.day
        policy.deafness = deafFrom..<deafFrom + min(4, Double(nights) / 5) * Self.day
        policy.since = begin
        policy.isHeardWhenTaken = handsNoticesOn
        return policy
    }

    /// When the apps' server could not be reached: some hours, about every tenth day.
    var outages: [Range<Date>] {
        var random = SeededRandom(seed: seed, part: "outage")
        return (0..<max(1, nights / 10)).map { _ in
            let begin = begin.addingTimeInterval(Mix.share(random.next()) * Double(nights) * Self.day)
            return begin..<begin.addingTimeInterval(3_600 * (1 + 5 * Mix.share(random.next())))
        }
    }
}
