import Intake
import Verification
import Commands
import AppStoreSimulator
import SimulatedWorld
import Foundation
import PostgreSQL
import Reconciliation
import TestSupport
import Testing

/// A world's sales reports beside what the job made of the same nights: what nothing ever told the server of shows as a
/// difference, and nothing else.
@Suite struct SalesWorldTests {
    /// A day and a product.
    private struct Place: Hashable {
        let day, bundleID, productID: String
    }

    @Test func differencesAreTheOrdersThatNeverReachedTheServer() async throws {
        try await withNights(try WorldSettings(seed: 11, customers: 250, nights: 8)) { nights in
            try await withTemporaryFolder { folder in
                let booth = SalesBooth(database: nights.database, folder: folder, apps: try apps(seed: 11))
                var files: [String] = []
                var unseen: [Int] = []
                for night in 1...nights.settings.nights {
                    try await nights.play(night)
                    let report = nights.world.salesReport(of: nights.world.lastPacificDay(beforeNight: night))
                    let compressed = try Gzip.compressed(Array(report.text.utf8))
                    files.append(try booth.write(compressed, as: "\(report.fileName).gz"))
                    // All days again: what came late is seen by now.
                    let result = try await booth.read(files)
                    let standings = result.files.flatMap(\.days).map(\.standing)
                    #expect(standings.dropLast().allSatisfy { $0 == .unchanged } && standings.last == .new)
                    #expect(result.files.allSatisfy { $0.unknownApps.isEmpty && $0.refusedCount == 0 })
                    try await expectReported(result, nights)
                    unseen.append(try await compare(result, nights, until: nights.settings.moment(ofNight: night)))
                }
                #expect(unseen.reduce(0, +) > 10, "\(unseen)")
                #expect(try #require(unseen.last) > 0, "\(unseen)")
            }
        }
    }

    /// The nightly report tells the same.
    private func expectReported(_ result: SalesResult, _ nights: PlayedNights) async throws {
        let (report, findings) = try await nights.report()
        #expect(report.sales == result.figures)
        #expect(findings.salesDifferences == result.differences)
    }

    /// Compares with the truth, id by id; gives how many purchases the tables don't know.
    private func compare(_ result: SalesResult, _ nights: PlayedNights, until night: Date) async throws -> Int {
        let days = Set(result.files.flatMap(\.days).map(\.day.description))
        let known = try await knownTransactions(nights.database)
        let paid = nights.world.purchases.filter { $0.isOwed && days.contains(pacificDay($0.purchasedAt)) }
        let unseen = paid.filter { !known.contains($0.transactionID) }
        #expect(unseen.allSatisfy { $0.evidentAt.map { $0 > night } ?? true })
        #expect(sums(unseen) == differences(result.differences))
        let figures = try #require(result.figures)
        #expect(figures.unitsSold == paid.map(\.units).reduce(0, +))
        #expect(figures.missing == unseen.map(\.units).reduce(0, +) && figures.surplus == 0)
        let refunded = nights.world.purchases.filter { purchase in
            purchase.refundedAt.map { days.contains(pacificDay($0)) } ?? false
        }
        #expect(figures.refundsSold == refunded.map(\.units).reduce(0, +))
        #expect(figures.refundsSeen <= figures.refundsSold)
        return unseen.count
    }

    private func sums(_ purchases: [WorldPurchase]) -> [Place: Int] {
        purchases.reduce(into: [:]) { sums, purchase in
            let place = Place(
                day: pacificDay(purchase.purchasedAt), bundleID: purchase.bundleID, productID: purchase.productID)
            sums[place, default: 0] += purchase.units
        }
    }

    private func differences(_ compared: [ComparedSales]) -> [Place: Int] {
        compared.reduce(into: [Place: Int]()) { sums, sales in
            let place = Place(
                day: sales.day.description, bundleID: sales.bundleID.text, productID: sales.productID.text)
            sums[place, default: 0] += sales.difference
        }.filter { $0.value != 0 }
    }

    private func pacificDay(_ moment: Date) -> String { SalesReport.pacificDay(of: moment) }

    private func knownTransactions(_ database: ScratchDatabase) async throws -> Set<String> {
        let connection = try await database.connect()
        defer { connection.close() }
        let rows = try await connection.query(
            """
            SELECT transaction_id FROM iap.white
            UNION SELECT transaction_id FROM iap.black
            UNION SELECT transaction_id FROM iap.excluded
            """)
        return Set(try rows.map { try $0.decode("transaction_id", as: String.self) })
    }

    private func apps(seed: UInt64) throws -> [AppSettings] {
        try World.storeApps(seed: seed).map { app in
            let bundleID = try #require(BundleID(app.bundleID))
            return AppSettings(
                app: App(bundleID: bundleID, environment: .production, grace: Grace(3600), since: nil), sku: app.sku)
        }
    }
}
