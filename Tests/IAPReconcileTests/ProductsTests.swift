import Foundation
import PostgreSQL
import TestSupport
import Testing

/// The command `products --suggest`: what it prints is what `import products` takes.
@Suite struct ProductsTests {
    @Test func whatLacksAPriceIsSuggestedUntilItIsImported() async throws {
        try await withProgramNight(customers: 60) { night in
            let connection = try await night.database.connect()
            defer { connection.close() }
            try await connection.execute("UPDATE iap.products SET list_price_milliunits = NULL, currency = NULL")
            let ended = try await ChildProcess.run(ProgramNight.program, night.run)
            try #require(ended.status == 0, "\(ended.errors)")
            #expect(ended.output.contains("without a price"))
            #expect(ended.output.contains("see “iap-reconcile products --suggest”"))

            let suggest = ["products", "--suggest", "--config", night.configuration]
            let suggested = try await ChildProcess.run(ProgramNight.program, suggest)
            #expect(suggested.status == 0)
            let lines = suggested.output.split(whereSeparator: \.isNewline)
            #expect(lines.first == "bundle_id,product_id,type,name,list_price_milliunits,currency")
            #expect(lines.count > 1)
            #expect(lines.dropFirst().allSatisfy { $0.hasSuffix(",,") })
            #expect(suggested.errors.contains(" of com.example.game: "))

            let filled = lines.enumerated().map { $0.offset == 0 ? $0.element : $0.element.dropLast() + "4990,USD" }
            let file = night.folder.appending(path: "products.csv").path(percentEncoded: false)
            try write(filled.joined(separator: "\n") + "\n", to: file)
            let imports = night.folder.appending(path: "import.conf").path(percentEncoded: false)
            try write("[database]\nconninfo = \(night.database.conninfo(as: "iap_import"))\n", to: imports)
            let taken = try await ChildProcess.run(
                ProgramNight.program, ["import", "products", file, "--config", imports])
            #expect(taken.status == 0, "\(taken.output)\(taken.errors)")
            let again = try await ChildProcess.run(ProgramNight.program, suggest)
            #expect(again.output.split(whereSeparator: \.isNewline).count == 1)
        }
    }
}
