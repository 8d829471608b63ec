/// An answer on its way to a client.
struct Answer: Sendable {
    var status: UInt32 = 200
    var contentType = "application/json;charset=UTF-8"
    var retryAfter: String?
    var body: [UInt8]
    /// How many bytes of the body are sent before the connection ends; `nil` to send all.
    var cutAfter: Int?
    /// Seconds before the answer is sent.
    var delay = 0.0

    init(status: UInt32 = 200, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// A web page, as a load balancer sends.
    static func page(_ status: UInt32, _ title: String) -> Answer {
        let html = "<html><head><title>\(title)</title></head><body><h1>\(title)</h1></body></html>"
        var answer = Answer(status: status, body: Array(html.utf8))
        answer.contentType = "text/html"
        return answer
    }
}
