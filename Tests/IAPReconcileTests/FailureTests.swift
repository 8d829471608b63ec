import Reconciliation
import Job
import Reporting
import Testing

@testable import IAPReconcile

@Suite struct FailureTests {
    @Test(
        arguments: [
            (.databaseUnavailable("x"), 69), (.databaseRefuses("x"), 77), (.noDatabase("x"), 78),
            (.schemaMismatch("x"), 78),
            (.appleUnavailable("x"), 69), (.anotherRun("x"), 75), (.interrupted("x"), 75), (.configuration("x"), 78),
            (.inconsistent("x"), 70), (.notFound("x"), 65),
        ] as [(JobError, Int32)])
    func everyErrorOfTheJobHasItsCode(error: JobError, code: Int32) {
        #expect(Failure(error).code.rawValue == code)
        #expect(Failure(error).message == "x")
    }

    @Test func aReportThatCannotBeWrittenIsAMatterOfPermission() {
        #expect(Failure(ReportError.notWritable(path: "/x", reason: "no")).code == .noPermission)
    }

    @Test func whatNobodyKnowsIsInternal() {
        struct Unknown: Error {}
        #expect(Failure(Unknown()).code == .software)
    }
}
