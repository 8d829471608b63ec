import Job
import NightlyRun
import Foundation
import Reconciliation
import Testing

@testable import IAPReconcile

@Suite struct InvocationTests {
    @Test func theDefaultsHoldWhereNothingIsSaid() throws {
        let invocation = try Invocation(arguments: ["run"])
        #expect(invocation.configuration == "/etc/iap-reconcile/iap-reconcile.conf")
        #expect(invocation.logFormat == .text)
        guard case .run(let options, let directory) = invocation.command else {
            Issue.record("not a run")
            return
        }
        #expect(!options.isDryRun && options.limit == nil && options.asOf == .clock && directory == nil)
    }

    @Test func everyOptionOfARunIsRead() throws {
        let invocation = try Invocation(arguments: [
            "--config=a.conf", "run", "--dry-run", "--limit", "7", "--report-dir", "out", "--now",
            "2026-11-21T03:00:00Z", "--replay", "--log-format", "json", "--quiet",
        ])
        #expect(invocation.configuration == "a.conf")
        #expect(invocation.logFormat == .json)
        #expect(invocation.verbosity == .quiet)
        guard case .run(let options, let directory) = invocation.command else {
            Issue.record("not a run")
            return
        }
        #expect(options.isDryRun)
        #expect(options.limit == 7)
        #expect(options.asOf == .replay(Date(timeIntervalSince1970: 1_795_230_000)))
        #expect(directory == "out")
    }

    /// Of `check`, which takes an app's ids, too, the desk looks up what was pasted as it is first.
    @Test(arguments: ["1007014815038896", "'1007014815038896", " 1007014815038896\t"])
    func anIDOfApplesIsTakenAsItIsPasted(id: String) throws {
        let arguments = ["note", id, "--by", "sue", "--note", "a ticket"]
        guard case .note(let subject, _, _) = try Invocation(arguments: arguments).command else {
            Issue.record("not a comment")
            return
        }
        #expect(subject.transactionID.text == "1007014815038896")
    }

    @Test func aMomentMayHaveAZoneAndFractions() {
        let expected = Date(timeIntervalSince1970: 1_795_230_000)
        #expect(Moment.parse("2026-11-21T11:00:00+08:00") == expected)
        #expect(Moment.parse("2026-11-21T03:00:00.500Z") == expected.addingTimeInterval(0.5))
        #expect(Moment.parse("2026-11-21") == nil)
        #expect(Moment.text(expected) == "2026-11-21T03:00:00Z")
    }

    @Test(
        arguments: [
            ([], "a command is missing"),
            (["rum"], "unknown command “rum”; did you mean “run”?"),
            (["xyzzy"], "unknown command “xyzzy”"),
            (["ruin", "x"], "unknown command “ruin”; did you mean “run”?"),
            (["dive"], "unknown command “dive”"),
            (["run", "twice"], "unexpected argument “twice”"),
            (["run", "--limt", "3"], "unknown option --limt; did you mean “--limit”?"),
            (["run", "-x"], "unknown option -x"),
            (["run", "--limit"], "--limit needs a value"),
            (["take", "1", "--by", " "], "--by needs a value"),
            (
                ["take", "1", "--by", String(repeating: "姓", count: 334)],
                "--by has 1002 bytes; it has at most 1000"
            ),
            (
                ["note", "1", "--by", "sue", "--note", String(repeating: "x", count: 10_001)],
                "--note has 10001 bytes; it has at most 10000"
            ),
            (
                ["erase", String(repeating: "x", count: 1_001), "--by", "sue"],
                "the user id has 1001 bytes; it has at most 1000"
            ),
            (["run", "--limit", "0"], "--limit is a whole number from 1 on, not “0”"),
            (
                ["run", "--r", "x"],
                "--r may be --refunded or --refused or --rehearsal or --reopen or --replay or --report-dir or --result or --run or --run-as; write it "
                    + "out"
            ),
            (["run", "--dry-run=yes"], "--dry-run takes no value"),
            (["run", "--replay"], "--replay needs --now, the moment that is replayed"),
            (["migrate", "--print", "--rehearsal"], "--print and --rehearsal exclude each other"),
            (["run", "--now", "today"], "--now is a moment such as 2026-11-21T03:00:00Z, not “today”"),
            (["run", "--report-dir="], "--report-dir needs a value"),
            (["products"], "products needs --suggest"),
            (["doctor", "--print"], "--print is no option of “doctor”"),
            (
                ["verify", "--since", "3044f3e1522a…"],
                "--since is an end of the trail as a summary names it, of 64 hex digits, not “3044f3e1522a…”"
            ),
            (["run", "--quiet", "--verbose"], "--quiet and --verbose exclude each other"),
            (["run", "--log-format", "xml"], "--log-format is text or json, not “xml”"),
        ] as [([String], String)])
    func whatCannotBeUnderstoodIsNamed(arguments: [String], text: String) throws {
        let error = try #require(throws: UsageError.self) { try Invocation(arguments: arguments) }
        #expect(error.description == text)
        #expect(Failure(error).code == .usage)
    }

    @Test func helpWinsOverEverything() throws {
        for arguments in [["--help"], ["run", "-h"], ["--help", "nonsense"]] {
            guard case .help = try Invocation(arguments: arguments).command else {
                Issue.record("no help for \(arguments)")
                continue
            }
        }
    }

    @Test func everyOptionStandsInTheHelp() {
        for option in [
            "--config", "--log-format", "--quiet", "--verbose", "--help", "--version", "--dry-run", "--limit",
            "--report-dir", "--now", "--run", "--print",
        ] {
            #expect(Help.text.contains(option))
        }
    }
}
