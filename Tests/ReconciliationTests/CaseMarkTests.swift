import Reconciliation
import Testing

/// By what a line of a spreadsheet says which case it is of.
@Suite struct CaseMarkTests {
    private let standing = "0123456789abcdef-"

    @Test(arguments: Environment.allCases)
    func whatIsWrittenIsRead(environment: Environment) throws {
        let mark = CaseMark(key: try Sample.key(environment: environment), standing: standing)
        #expect(CaseMark(mark.text) == mark)
    }

    @Test(arguments: [
        "", "com.example.game Production 7", "com.example.game Production 7 0123456789abcdef- ",
        "com.example.game Production 7 0123456789abcdef", "com.example.game Production 7 0123456789abcdef\t",
        "com.example.game Production 7 0123456789abcdef\u{7F}", "com.example.game production 7 0123456789abcdef-",
        "com.example.game Production  0123456789abcdef-", " Production 7 0123456789abcdef-",
    ])
    func whatIsNoMarkIsNone(text: String) {
        #expect(CaseMark(text) == nil)
    }
}
