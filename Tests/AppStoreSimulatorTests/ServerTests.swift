import AppStoreSimulator
import Foundation
import Testing

@Suite struct ServerTests {
    @Test func slowAnswersHoldNoThread() async throws {
        let store = SimulatedAppStore(seed: 7, latency: try Latency(median: 0.2, percentile99: 0.2))
        try await withStore(store) { addresses async throws -> Void in
            let begin = ContinuousClock.now
            let answers = try await Client.curl([
                "-Z", "--parallel-max", "64", "--parallel-immediate", "-d", "{}",
                "\(addresses.productionVerifyReceipt)?[1-64]",
            ])
            #expect(answers.output.count { $0 == "{" } == 64)
            // One after the other on the server's two threads they would take 6.4 seconds.
            #expect(ContinuousClock.now - begin < .seconds(4))
        }
    }

    @Test func answersOverHTTPSToWhoTrustsItsAuthority() async throws {
        let store = SimulatedAppStore(seed: 7)
        let folder = FileManager.default.temporaryDirectory.appending(path: "simulator-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withStore(store, tls: true) { addresses async throws -> Void in
            let url = try #require(addresses.tlsProductionVerifyReceipt)
            let authority = folder.appending(path: "ca.pem")
            try #require(addresses.authorityPEM).write(to: authority, atomically: true, encoding: .utf8)
            let trusting = try await Client.curl(["--cacert", authority.path, "-d", "{}", url])
            #expect(trusting.output == #"{"status":21002}"#)
            #expect(trusting.status == 0)
            #expect(try await Client.curl(["-d", "{}", url]).status == 60)
        }
    }

    @Test func takesTheSamePortOnlyOnce() throws {
        let first = SimulatedAppStore(seed: 1)
        let port = try first.start().port
        defer { first.stop() }
        #expect(throws: SimulatorError.cannotListen(port: port, https: false)) {
            try SimulatedAppStore(seed: 2).start(port: port)
        }
    }
}
