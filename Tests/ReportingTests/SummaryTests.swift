import Foundation
import Reconciliation
import Testing

@testable import Reporting

@Suite struct SummaryTests {
    @Test func whatWasPurgedIsToldOnlyWhereAnythingWas() {
        var run = Sample.run()
        func text() -> String { Summary(run: run, formats: Formats(timeZone: run.timeZone)).text(location: "x") }
        #expect(!text().contains("purged"))
        run.purged = Purged(payloads: 12, devices: 0)
        #expect(text().contains("\npurged              12 payloads, 0 devices of receipts long settled\n"))
    }
}
