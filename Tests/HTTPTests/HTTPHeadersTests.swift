import Testing

@testable import HTTP

@Suite("Headers")
struct HTTPHeadersTests {
    private let headers: HTTPHeaders = ["Retry-After": "3", "set-cookie": "a", "Set-Cookie": "b"]

    @Test("A field is found however its name is written")
    func lookupDisregardsCase() {
        #expect(headers.first("retry-AFTER") == "3")
        #expect(headers["RETRY-after"] == "3")
    }

    @Test("The first of several values, or all of them, in their order")
    func severalValues() {
        #expect(headers.first("Set-Cookie") == "a")
        #expect(headers.all("SET-COOKIE") == ["a", "b"])
    }

    @Test("A name that only begins alike is another name")
    func otherNames() {
        #expect(headers.first("Retry") == nil)
        #expect(headers.all("Retry-After-Ms").isEmpty)
    }

    @Test("Only letters have two cases: @ and ` are as far apart as A and a")
    func onlyLettersFold() {
        #expect(HTTPHeaders.Field(name: "@", value: "") != HTTPHeaders.Field(name: "`", value: ""))
        #expect(HTTPHeaders.Field(name: "A", value: "") == HTTPHeaders.Field(name: "a", value: ""))
    }

    @Test("Fields are compared by name without case, and by value with it")
    func equality() {
        #expect(headers == ["retry-after": "3", "SET-COOKIE": "a", "set-cookie": "b"])
        #expect(headers != ["Retry-After": "3", "Set-Cookie": "A", "set-cookie": "b"])
    }

    @Test("An appended field comes last")
    func append() {
        var headers = headers
        headers.append("Accept", "text/plain")
        #expect(headers.fields.map(\.name) == ["Retry-After", "set-cookie", "Set-Cookie", "Accept"])
    }
}
