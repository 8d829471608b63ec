import AppStoreSimulator
import Foundation
import TestSupport
import Testing

@Suite struct ServerTests {
    @Test func slowAnswersHoldNoThread() async throws {
        // No answer comes while the test lasts: on the server's two threads the third request would not be heard.
        let store = SimulatedAppStore(seed: 7, latency: try Latency(median: 600, percentile99: 600))
        try await withStore(store) { addresses async throws -> Void in
            let requests = [
                "-s", "-Z", "--parallel-max", "64", "--parallel-immediate", "-d", "{}",
                "\(addresses.productionVerifyReceipt)?[1-64]",
            ]
            try await ChildProcess.with("/usr/bin/curl", requests) { child in
                while store.counts.total < 64, child.isRunning { try await Task.sleep(for: .milliseconds(5)) }
                #expect(child.isRunning)
            }
            #expect(store.counts.total == 64)
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
