import Foundation
import Job
import Reconciliation
import Synchronization
import Testing

@testable import IAPReconcile

@Suite struct ConsoleTests {
    private let moment = Date(timeIntervalSince1970: 1_795_230_000)

    @Test func aTextLineHoldsTheRunAndTheFields() {
        let entry = LogEntry(.warning, "a\nb", fields: ["b": "two words", "a": "1"], runID: 12)
        #expect(
            LogLine(entry, at: moment).text(as: .text, isColoured: false)
                == "2026-11-21T03:00:00Z warning run=12 a b a=1 b=\"two words\"")
    }

    @Test func aJSONLineIsOneObject() {
        let entry = LogEntry(.info, "a\n\"b\"", fields: ["run": "x"], runID: 12)
        #expect(
            LogLine(entry, at: moment).text(as: .json, isColoured: false)
                == #"{"fields":{"run":"x"},"level":"info","message":"a\n\"b\"","run":12,"time":"2026-11-21T03:00:00Z"}"#
        )
    }

    @Test func aLogLineDoesNotTearTheProgressBar() {
        let written = said(isTerminal: true, environment: ["NO_COLOR": "1"]) { console in
            console.show(RunProgress(stage: "verify", done: 1, total: 2))
            console.log(LogEntry(.info, "hello"))
            console.clear()
        }
        let bar = ProgressBar.text(RunProgress(stage: "verify", done: 1, total: 2))
        #expect(bar.contains("50 % (1/2)"))
        #expect(written.count == 3)
        #expect(written.first == "\r\u{1B}[K" + bar)
        #expect(written.dropFirst().first?.hasSuffix(" info hello\n\(bar)") == true)
        #expect(written.last == "\r\u{1B}[K")
    }

    @Test func noProgressAndNoColourWithoutATerminal() {
        let written = said(isTerminal: false) { console in
            console.show(RunProgress(stage: "verify", done: 1, total: 2))
            console.log(LogEntry(.error, "hello"))
            console.log(LogEntry(.debug, "unsaid"))
            console.clear()
        }
        #expect(written.count == 1)
        #expect(written.joined().contains("\u{1B}") == false)
    }

    @Test func coloursStandOnlyWhereWanted() {
        let log: (Console) -> Void = { $0.log(LogEntry(.error, "hello")) }
        #expect(said(isTerminal: true, log).joined().contains("\u{1B}[31merror"))
        #expect(!said(isTerminal: true, environment: ["NO_COLOR": "1"], log).joined().contains("\u{1B}"))
        #expect(!said(isTerminal: true, environment: ["TERM": "dumb"], log).joined().contains("\u{1B}"))
    }

    @Test func stagesAreATableOrALineOfJSONEach() throws {
        let show: (Console) -> Void = {
            $0.show([
                StageTime(name: "verify", seconds: 2, items: 10), StageTime(name: "books", seconds: 0.5, items: 0),
            ])
        }
        #expect(said(isTerminal: false, show) == [])
        #expect(
            said(isTerminal: false, verbosity: .verbose, show) == [
                "verify      2.00 s  10 items  5/s\nbooks       0.50 s\n"
            ])
        let lines = said(isTerminal: false, format: .json, verbosity: .verbose, show)
        let entries = try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        #expect(
            entries.map { $0?["fields"] as? [String: String] } == [
                ["stage": "verify", "seconds": "2.0", "items": "10"],
                ["stage": "books", "seconds": "0.5", "items": "0"],
            ])
    }

    private func said(
        isTerminal: Bool, environment: [String: String] = [:], format: LogFormat = .text,
        verbosity: Verbosity = .normal, _ body: (Console) -> Void
    ) -> [String] {
        let written = Written()
        body(
            Console(
                format: format, verbosity: verbosity, isTerminal: isTerminal, environment: environment,
                write: { text in written.lines.withLock { $0.append(text) } }))
        return written.lines.withLock { $0 }
    }

    private final class Written: Sendable {
        let lines = Mutex<[String]>([])
    }
}
