import Foundation
import HTTP
import TestSupport
import Testing

@Suite("Requests that are refused before anything is sent")
struct RequestTargetTests {
    @Test(
        "Only absolute http and https URLs without user name are sent to",
        arguments: [
            "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/", "FILE:///etc/passwd", "", "/path",
            "127.0.0.1:80/path", "localhost", "http://", "http://127.0.0.1:99999/",
            "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX-Other: 1", "http://127.0.0.1/\u{0}.example.com",
        ])
    func invalidURL(_ url: String) async throws {
        await #expect(throws: HTTPError.invalidURL(url)) { try await HTTPClient().send(HTTPRequest(url: url)) }
    }

    @Test("A refused URL is shown without its query, its fragment, its user name and its password")
    func redaction() async throws {
        let client = try HTTPClient()
        await #expect(throws: HTTPError.invalidURL("…@127.0.0.1/path")) {
            try await client.send(HTTPRequest(url: "http://user:password@127.0.0.1/path?token=secret"))
        }
        await #expect(throws: HTTPError.invalidURL("ftp://127.0.0.1/")) {
            try await client.send(HTTPRequest(url: "ftp://127.0.0.1/#secret?secret"))
        }
        await #expect(throws: HTTPError.invalidURL("…@127.0.0.1/")) {
            try await client.send(HTTPRequest(url: "ftp://user:pass@word@127.0.0.1/?a@b"))
        }
    }

    @Test("A header can't smuggle in another", arguments: ["a\r\nX-Other: 1", "a\nb", "a\u{0}b", "a\rb", "\u{7F}"])
    func headerValue(_ value: String) async throws {
        let request = HTTPRequest(url: "http://127.0.0.1/", headers: ["X-Name": value])
        await #expect(throws: HTTPError.invalidRequest("the value of header X-Name holds a control character")) {
            try await HTTPClient().send(request)
        }
    }

    @Test("Nor can a header's name", arguments: ["", "X-Name: 1\r\nX-Other", "X Name", "X-Name:", "Näme", "X\u{0}"])
    func headerName(_ name: String) async throws {
        let request = HTTPRequest(url: "http://127.0.0.1/", headers: HTTPHeaders([.init(name: name, value: "1")]))
        await #expect(throws: HTTPError.invalidRequest("the name of a header is no token of HTTP")) {
            try await HTTPClient().send(request)
        }
    }

    @Test("Nor can a method", arguments: ["", "GET /other HTTP/1.1\r\nX:", "GET POST"])
    func method(_ method: String) async throws {
        await #expect(throws: HTTPError.invalidRequest("the method is no token of HTTP")) {
            try await HTTPClient().send(HTTPRequest(method: method, url: "http://127.0.0.1/"))
        }
    }

    @Test("Text beyond ASCII travels in a header's value")
    func headerBeyondASCII() async throws {
        try await TestServer.with({ _, connection in connection.respond(headers: ["X-Name: größer"]) }) { server in
            let request = HTTPRequest(url: server.url, headers: ["X-Name": "größe\t1"])
            let response = try await HTTPClient().send(request)
            #expect(response.headers["X-Name"] == "größer")
            #expect(server.log.first?.header("X-Name") == "größe\t1")
        }
    }
}
