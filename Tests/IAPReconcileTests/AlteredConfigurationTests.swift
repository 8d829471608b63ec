import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// Configurations broken at random, the same in every run: each is understood, or refused with its line.
@Suite struct AlteredConfigurationTests {
    private static let scraps = [
        "[", "]", "[app ", "[run]", "=", ":", ";", "#", "\n ", "\r\n", "\u{2028}", "\u{85}", "\u{FEFF}", "\0", "nan",
        "1e400", "-1",
        "9223372036854775807d", "http://[", "\u{1B}[2J",
    ]

    @Test func areUnderstoodOrRefused() throws {
        let example = try String(
            contentsOf: PackageRoot.folder.appending(path: "cron/iap-reconcile.conf.example"), encoding: .utf8)
        let original = example.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.hasPrefix(";") ? $0.dropFirst() : $0 }
            .filter { !$0.hasPrefix("query_file = ") }
            .filter { !$0.contains("_credential = ") && !$0.hasPrefix("certificate_authorities") }
            .joined(separator: "\n")
        var altering = Altering(seed: 20_261_121, scraps: Self.scraps)
        var (understood, refused) = (0, 0)
        for _ in 0..<2_000 {
            let text = String(decoding: altering.alter(Array(original.utf8)), as: UTF8.self)
            do {
                _ = try Configuration.parse(text, file: "x", isReadableByOthers: true, secrets: .leftAlone)
                understood += 1
            } catch {
                #expect(!error.text.isEmpty)
                refused += 1
            }
        }
        #expect(understood > 100 && refused > 500, "\(understood) understood, \(refused) refused")
    }
}
