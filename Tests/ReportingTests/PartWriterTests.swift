import Foundation
import Reconciliation
import Synchronization
import TestSupport
import Testing

@testable import Reporting

/// The forms of a report, which are written beside each other.
@Suite struct PartWriterTests {
    @Test func whatIsHandedOverIsWrittenInItsOrder() throws {
        let told = Told()
        let writer = PartWriter(RecordingPart(told))
        let pages = (0..<50).map { page in (0..<20).map { "case-\(page * 20 + $0)" } }
        for page in pages { try writer.add(page.map { .lostOrder(Sample.lostOrder(user: $0)) }) }
        writer.finish()
        try writer.wait()
        #expect(told.lines == pages.flatMap(\.self) + ["finished"])
    }

    /// Nothing is written behind what is missing, and no page after it waits for room for ever.
    @Test func whatCouldNotBeWrittenEndsThePart() throws {
        let told = Told()
        let writer = PartWriter(RecordingPart(told, failingAt: "case-3"))
        let failure = #expect(throws: ReportError.self) {
            for number in 0..<100 { try writer.add([.lostOrder(Sample.lostOrder(user: "case-\(number)"))]) }
            writer.finish()
            try writer.wait()
        }
        #expect("\(try #require(failure))".contains("No space left"))
        #expect(told.lines == ["case-0", "case-1", "case-2"])
        #expect(throws: ReportError.self) { try writer.wait() }
    }

    @Test func everySortOfFindingComesThrough() throws {
        let told = Told()
        let writer = PartWriter(RecordingPart(told))
        try writer.add([
            .unusable(Sample.receipt(.empty)), .unverified(Sample.receipt(.tryAgain)), .suspicion(Sample.suspicion),
            .difference(try #require(Sample.salesDifferences().first)),
        ])
        try writer.wait()
        #expect(told.lines == ["unusable", "unverified", "suspicion", "difference"])
    }

    /// A night whose session was lost while its report was written writes it anew: nothing of the first is left in it.
    @Test func aReportThatIsBegunAnewHoldsEachCaseOnce() throws {
        try withFolder { folder in
            let writer = try ReportWriter(directory: folder, programVersion: "1.0")
            try writer.begin(Sample.run(cases: 1000))
            for number in 0..<777 { try writer.add(Sample.lostOrder(id: String(47_000_000_000_000 + number))) }
            try writer.begin(Sample.run(cases: 1000))
            let ids = (0..<1000).map { String(47_000_000_000_000 + $0) }
            for id in ids { try writer.add(Sample.lostOrder(id: id)) }
            try writer.finish()
            let csv = try String(contentsOfFile: "\(writer.location)/lost-orders.csv", encoding: .utf8)
            let written = csv.split(separator: "\r\n").dropFirst().map { line in
                String(line.split(separator: ",")[2].filter(\.isNumber))
            }
            #expect(written == ids)
            #expect(writer.summary.contains("1000") || writer.summary.contains("1,000"))
        }
    }

    /// The disk is full: whoever hears of the findings is told, and no report stands where people look.
    @Test func aFormThatCanNotBeWrittenLeavesNoReport() throws {
        try withFolder { folder in
            do {
                let writer = try ReportWriter(directory: folder, programVersion: "1.0")
                try writer.begin(Sample.run(cases: 1))
                try writer.add(Sample.lostOrder())
                let temporary = try #require(
                    FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasPrefix(".report-") })
                // Where the page is put together, something else lies.
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(temporary)/index.html", withIntermediateDirectories: true)
                #expect(throws: ReportError.self) { try writer.finish() }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }
}

/// What a part was told, in its order.
private final class Told: Sendable {
    private let heard = Mutex<[String]>([])
    var lines: [String] { heard.withLock { $0 } }
    func add(_ line: String) { heard.withLock { $0.append(line) } }
}

private final class RecordingPart: ReportPart {
    private let told: Told
    private let failing: String?

    init(_ told: Told, failingAt user: String? = nil) {
        self.told = told
        failing = user
    }

    func add(_ lostOrder: ReportedCase) throws {
        let user = lostOrder.assessment.owner.user ?? ""
        if user == failing { throw ReportError.failed(path: "lost-orders.csv", reason: "No space left on device") }
        told.add(user)
    }

    func add(unusable receipt: TroubledReceipt) { told.add("unusable") }
    func add(unverified receipt: TroubledReceipt) { told.add("unverified") }
    func add(_ suspicion: Suspicion) { told.add("suspicion") }
    func add(_ difference: ComparedSales) { told.add("difference") }
    func finish() { told.add("finished") }
}
