public import Foundation

/// What a world of many nights depends on: the same settings make the same world, in any process.
public struct NightsSettings: Hashable, Sendable {
    /// Three in the morning in Shanghai.
    public static let firstNight = Date(timeIntervalSince1970: 1_790_967_600)
    static let day: TimeInterval = 86_400

    public let seed: UInt64
    public let customers: Int
    public let nights: Int

    public init(seed: UInt64, customers: Int, nights: Int) throws(SimulatorError) {
        guard customers >= 0, customers <= 1_000_000 else {
            throw .invalidOption("a world of nights has from 0 to 1000000 customers")
        }
        guard nights >= 1, nights <= 366 else { throw .invalidOption("a world has from 1 to 366 nights") }
        self.seed = seed
        self.customers = customers
        self.nights = nights
    }

    /// The moment of a night's run, which ends the day of that number. The first is 1; 0 is the world's beginning.
    public func moment(ofNight number: Int) -> Date {
        Self.firstNight.addingTimeInterval(Double(number - 1) * Self.day)
    }

    var begin: Date { moment(ofNight: 0) }
    var end: Date { moment(ofNight: nights) }

    /// The day in which something happens.
    func day(of moment: Date) -> Int {
        Int((moment.timeIntervalSince(begin) / Self.day).rounded(.up))
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
