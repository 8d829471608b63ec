import Foundation
import SimulatedWorld

/// `appstore-simulator fill`
enum Fill {
    static let help = """
        Usage: appstore-simulator fill --database CONNINFO [options]
        Fills the inbox with receipts that nobody claimed, for tests of speed. Any server of the same seed answers for
        them. Wants the rights of the schema's owner.

          --database CONNINFO    as libpq understands it
          --receipts N           (default 20000)
          --transactions N       in each receipt (default 10)
          --seed N               (default 1)
          --now MOMENT           a day after they were handed in (default: the present)

        """

    static func run(_ arguments: [String]) async throws {
        let options = try Options(arguments, values: ["database", "receipts", "transactions", "seed", "now"])
        let database = try options.required("database")
        let fill = try InboxFill(
            seed: WorldOptions.seed(options), receipts: options.number("receipts", in: 0...10_000_000) ?? 20_000,
            transactions: options.number("transactions", in: 0...100_000) ?? 10,
            now: options.moment("now") ?? Date())
        print("\(try await fill.fill(database)) receipts")
    }
}
