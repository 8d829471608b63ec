@testable import Importing
import Foundation
import Testing

@Suite struct ImportedTimeTests {
    private static let moment = Date(timeIntervalSince1970: 1_795_230_000)

    @Test(
        arguments: [
            "2026-11-21T03:00:00Z", "2026-11-21 03:00:00Z", "2026-11-21T03:00:00+00:00", "2026-11-21 03:00:00+00",
            "2026-11-21T11:00:00+0800", "2026-11-20 22:30:00-04:30", "2026-11-21 03:00:00 UTC",
            "2026-11-21T03:00:00.000Z", "1795230000", "1795230000000", "1795230000.0",
        ])
    func everyWayToWriteAMomentIsRead(text: String) throws {
        #expect(try ImportedTime.parse(text) == Self.moment)
    }

    @Test func fractionsAreKept() throws {
        for text in ["2026-11-21T03:00:00.25Z", "2026-11-21 03:00:00.250000999+00", "1795230000250", "1795230000.25"] {
            #expect(try ImportedTime.parse(text) == Self.moment.addingTimeInterval(0.25), "\(text)")
        }
    }

    @Test(
        arguments: [
            ("2026-11-21T03:00:00", ImportedTime.Problem.withoutZone), ("2026-11-21 03:00:00.5", .withoutZone),
            ("1999-12-31T23:59:59Z", .outOfRange), ("2100-01-01T00:00:00Z", .outOfRange), ("0", .outOfRange),
            ("1795230000000000", .outOfRange), ("2026-02-30T00:00:00Z", .unreadable), ("2026-11-21", .unreadable),
            ("21.11.2026 03:00:00Z", .unreadable), ("2026-11-21T03:00:00X", .unreadable), ("-1", .unreadable),
            ("2026-11-21T03:00:00+25:00", .unreadable), ("2026-11-21T03:00:00.Z", .unreadable), ("nan", .unreadable),
            ("2026-11-21T03:00:00+19:00", .unreadable), ("2026-11-21T03:00:00+08:60", .unreadable),
            ("2026-11-21T03:00:00x08:00", .unreadable), ("2026-11-21T03:00:00+08.00", .unreadable),
            ("2026-11-21T03:00:00+080", .unreadable), ("2026-11-21T03:00:00+0:800", .unreadable),
            ("1.2.3", .unreadable), (".", .unreadable),
        ] as [(String, ImportedTime.Problem)])
    func whatIsNoMomentIsNamed(text: String, problem: ImportedTime.Problem) {
        #expect(throws: problem) { try ImportedTime.parse(text) }
    }
}
