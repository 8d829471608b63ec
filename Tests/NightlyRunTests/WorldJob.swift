import Verification
import AppStoreSimulator
import SimulatedWorld
import Foundation
import Job
import Reconciliation
import TestSupport

/// As the configuration of a world's apps says it, with the tables of their companies as sources.
func jobSettings(
    _ settings: WorldSettings, _ database: ScratchDatabase, _ addresses: SimulatedAppStore.Addresses,
    _ roots: RootsFile,
    redelivery: RedeliveryMode = .never
) -> JobSettings {
    let apps = zip(World.apps, World.storeApps(seed: settings.seed)).compactMap { app, store in
        BundleID(app.bundleID).map { bundleID in
            var judged = App(
                bundleID: bundleID, environment: .production, grace: Grace(WorldTally.grace),
                since: app.since(settings), storefronts: ["CHN", "JPN", "USA"], delivery: app.deliveryModes)
            if app.bundleID == "com.example.game" { judged.redelivery = redelivery }
            return AppSettings(app: judged, sharedSecret: store.sharedSecret.map { Secret($0) })
        }
    }
    var job = JobSettings(database: database.conninfo(as: "iap_job"), apps: apps)
    job.apple = AppleSettings(at: addresses, roots: roots.path)
    job.importDatabase = database.conninfo(as: "iap_import")
    job.sources = CompanyTables.sources.compactMap { source in
        ImportKind(rawValue: source.kind).map { kind in
            SourceSettings(
                name: source.kind, kind: kind,
                origin: .query(
                    SourceQuery(conninfo: database.conninfo, text: source.query, watermark: source.watermark)))
        }
    }
    return job
}

extension WorldApp {
    /// As its configuration says it.
    fileprivate var deliveryModes: [ProductType: DeliveryMode] {
        delivery.reduce(into: [:]) { modes, word in
            if let type = ProductType(rawValue: word.key) { modes[type] = DeliveryMode(rawValue: word.value) }
        }
    }
}
