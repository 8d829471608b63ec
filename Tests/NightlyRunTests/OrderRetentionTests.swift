import AppStoreSimulator
import Commands
import Foundation
import Job
import PostgreSQL
import Reconciliation
import Testing

/// Orders that were opened and never paid, over nights; which those are is tested in the database.
@Suite struct OrderRetentionTests {
    @Test func aNightTakesWhatDiedLatelyAndTheCommandTheRest() async throws {
        try await withPlay { play in
            let gems = play.buy("1000000001", hoursAgo: 99 * 24)
            try await play.order("paid", hoursAgo: 99 * 24 + 1)
            try await play.upload(play.receipt([gems]), for: gems, order: "paid")
            try await play.order("lately", by: "bob", hoursAgo: 95 * 24)
            try await play.order("long ago", by: "bob", hoursAgo: 300 * 24)
            try await play.order("young", by: "bob", hoursAgo: 80 * 24)
            #expect(try await play.night(1).report.purged.orders == 0)

            var play = play
            play.settings.retention.orders = 90 * 86_400
            #expect(try await play.night(2).report.purged == Purged(orders: 1))
            #expect(try await play.count("iap.orders WHERE order_id = 'lately'") == 0)
            #expect(try await play.count("iap.events WHERE details ->> 'orders' = '1'") == 1)

            let desk = RetentionDesk(settings: play.settings)
            #expect(try await desk.purge(isDryRun: true, stop: StopSignal()).orders == 1)
            #expect(try await desk.purge(isDryRun: false, stop: StopSignal()).orders == 1)
            #expect(try await desk.purge(isDryRun: false, stop: StopSignal()).orders == 0)
            #expect(try await play.count("iap.orders") == 2)
            #expect(try await play.text("SELECT sum(orders)::text FROM iap.purged_orders") == "2")
        }
    }
}
