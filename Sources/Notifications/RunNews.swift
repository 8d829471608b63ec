public import Foundation
public import Reconciliation

/// What notifications say of a run that has ended.
public struct RunNews: Sendable {
    /// `nil` if the run failed before it had one.
    public var runID: Int64?
    public var exitCode: ExitCode
    /// Why it did not end with 0, in a sentence that holds no secret and nothing of a customer.
    public var reason: String?
    public var startedAt: Date
    public var finishedAt: Date
    public var host: String
    public var programVersion: String
    /// What the run found; `nil` if it failed before.
    public var findings: RunReport?
    public var report: WrittenReport?
    /// Whether no run took place, and somebody only wants to see whether messages arrive.
    public private(set) var isTest = false

    public init(
        runID: Int64?, exitCode: ExitCode, reason: String?, startedAt: Date, finishedAt: Date, host: String,
        programVersion: String, findings: RunReport?, report: WrittenReport?
    ) {
        self.runID = runID
        self.exitCode = exitCode
        self.reason = reason
        self.startedAt = startedAt
        self.finishedAt = finishedAt
        self.host = host
        self.programVersion = programVersion
        self.findings = findings
        self.report = report
    }

    /// News of no run, to see whether messages arrive.
    public static func test(of programVersion: String, on host: String, at moment: Date) -> RunNews {
        var news = RunNews(
            runID: nil, exitCode: .done, reason: "This is a test: no run took place.", startedAt: moment,
            finishedAt: moment, host: host, programVersion: programVersion, findings: nil, report: nil)
        news.isTest = true
        return news
    }

    /// How a run ended, in words of the table `runs`; a run that had not begun when it ended is in no table.
    enum State: String {
        case complete
        case endedEarly = "ended_early"
        case failed
        case test
    }

    var state: State {
        if isTest { return .test }
        return switch exitCode {
        case .done: .complete
        case .tryLater: .endedEarly
        // Apple could not be reached; what needs no word of Apple's is booked and reported.
        case .unavailable where findings != nil: .endedEarly
        default: .failed
        }
    }
}

/// The report that a run wrote.
public struct WrittenReport: Sendable {
    /// The report's folder.
    public var folder: String
    /// The URL of its page for browsers; `nil` if that is not known.
    public var url: String?
    /// The text of `summary.txt`.
    public var summary: String

    public init(folder: String, url: String?, summary: String) {
        self.folder = folder
        self.url = url
        self.summary = summary
    }
}
