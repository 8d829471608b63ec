import HTTP
import TestSupport
import Testing

@Suite("Failures")
struct HTTPErrorTests {
    @Test("Nobody listens")
    func couldNotConnect() async throws {
        let client = try HTTPClient()
        let port = try FreePort.find()
        let error = await #expect(throws: HTTPError.self) {
            try await client.send(HTTPRequest(url: "http://127.0.0.1:\(port)/?token=secret"))
        }
        guard case .couldNotConnect(let host, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(host == "127.0.0.1:\(port)")
        #expect(error?.isRetryable == true)
        #expect(error?.description.contains("secret") == false)
    }
}
