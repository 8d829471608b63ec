import Foundation
import Reconciliation
import Testing

@testable import IAPReconcile

/// What `verify` prints, whole.
@Suite struct VerificationTextTests {
    private let findings = [
        IntegrityFinding(.latestMoves, count: 0, examples: []),
        IntegrityFinding(.openCases, count: 12, examples: ["2000000847061981", "x\u{1B}[2J"]),
        IntegrityFinding(.chain, count: 1, examples: ["7"]),
    ]
    private let trail = AuditTrail(entries: 42, end: "3044f3e1522a")

    @Test func peopleReadThis() {
        let text = findings.map(VerificationText.line).joined() + VerificationText.summary(findings, trail, false)
        #expect(
            text == """
                fine   each transaction is where its latest move took it
                wrong  not so in 12: each open case is of a white transaction
                       2000000847061981, x [2J, …
                wrong  not so in 1: the trail's chain is unbroken
                       7
                wrong  no link of the trail is the end that was kept: it was written anew, or is another's

                4 checks, 3 not fine; trail: 42 entries, its end 3044f3e1522a

                """)
    }

    @Test func withoutAnEndThatWasKeptNothingIsSaidOfIt() {
        #expect(
            VerificationText.summary(Array(findings.prefix(1)), AuditTrail(entries: 0, end: ""), nil)
                == "\n1 check, 0 not fine; trail: 0 entries\n")
        #expect(
            VerificationText.summary([], trail, true)
                == "fine   the trail continues the end that was kept\n\n"
                + "1 check, 0 not fine; trail: 42 entries, its end 3044f3e1522a\n")
    }

    @Test func programsReadThis() throws {
        #expect(
            try VerificationText.json(findings, trail, true) == """
                {
                  "audit_trail" : {
                    "continues_since" : true,
                    "end" : "3044f3e1522a",
                    "entries" : 42
                  },
                  "checks" : [
                    {
                      "examples" : [

                      ],
                      "holds" : true,
                      "name" : "latest_moves",
                      "violations" : 0
                    },
                    {
                      "examples" : [
                        "2000000847061981",
                        "x\\u001b[2J"
                      ],
                      "holds" : false,
                      "name" : "open_cases",
                      "violations" : 12
                    },
                    {
                      "examples" : [
                        "7"
                      ],
                      "holds" : false,
                      "name" : "chain",
                      "violations" : 1
                    }
                  ]
                }
                """)
    }
}
