import Foundation
import Reconciliation
import TestSupport
import Testing

@testable import IAPReconcile

/// The exit codes are decided in one place, and every text that lists them lists these.
@Suite struct ExitCodeTests {
    private let codes = ExitCode.allCases.map(\.rawValue)

    @Test func theTableOfTheDocumentationHasEachCode() throws {
        let texts = try ([PackageRoot.folder.appending(path: "README.md")] + pages()).map {
            try String(contentsOf: $0, encoding: .utf8)
        }
        let table = try #require(
            texts.compactMap { $0.firstMatch(of: /\| code \| meaning \|\n\| --- \| --- \|\n((?:\|.*\n)+)/) }.first)
        #expect(table.1.matches(of: /(?m)^\| (\d+) \|/).compactMap { Int32($0.1) } == codes)
    }

    @Test func theManPageHasEachCode() throws {
        let manual = try String(contentsOf: PackageRoot.folder.appending(path: "docs/iap-reconcile.8"), encoding: .utf8)
        let section = try #require(manual.firstMatch(of: #/\.SH EXIT STATUS\n((?s).*?)\n\.SH /#))
        #expect(section.1.matches(of: /(?m)^\.B (\d+)$/).compactMap { Int32($0.1) } == codes)
    }

    @Test func theHelpHasEachCode() throws {
        let listed = try #require(Help.text.firstMatch(of: #/Exit codes:((?s).*?)See man/#))
        #expect(listed.1.matches(of: /\d+/).compactMap { Int32($0.0) } == codes)
    }

    private func pages() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(
            at: PackageRoot.folder.appending(path: "docs"), includingPropertiesForKeys: nil
        ).filter { $0.pathExtension == "md" }
    }
}
