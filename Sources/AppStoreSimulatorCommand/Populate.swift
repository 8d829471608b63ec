import AppStoreSimulator
import Foundation

/// `appstore-simulator populate`
enum Populate {
    static let help = """
        Usage: appstore-simulator populate --database CONNINFO [options]
        Plays a world of customers on a database that has the schema of iap-reconcile: clients hand in receipts, the app's
        server claims most purchases, and some are lost. Wants the rights of the schema's owner.

          --database CONNINFO    as libpq understands it
          --truth FILE           write there, as JSON, which orders were truly lost
          --secrets-dir DIR      write the apps' shared secrets there, a file (mode 0600) named after each bundle id
        \(WorldOptions.help)

        """

    static func run(_ arguments: [String]) async throws {
        let options = try Options(
            arguments, values: WorldOptions.names.union(["database", "truth", "secrets-dir"]),
            switches: WorldOptions.switches)
        let database = try options.required("database")
        let world = World(try WorldOptions.settings(options))
        let truth = world.truth()
        try WorldOptions.writeSecrets(of: World.apps(seed: WorldOptions.seed(options)), options)
        let populated = try await world.populate(database)
        if let file = options.text("truth") {
            try Files.write(String(decoding: truth.json(), as: UTF8.self) + "\n", to: file)
        }
        print("\(populated)")
        let hidden = truth.lostWithoutReceipt.count
        print(
            "\(truth.lost.count) truly lost, \(hidden) more without any receipt, \(truth.pending) pending, \(truth.refunded) refunded"
        )
    }
}
