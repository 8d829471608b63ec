import CCurl
import Foundation

/// An easy handle, used for one transfer after another, and what it is receiving.
final class Slot {
    private let easy: EasyHandle
    private var receiving: Receiving
    private var job: Job?
    private var headerLines: UnsafeMutablePointer<curl_slist>?

    /// The handle by which libcurl names the transfer.
    var handle: UnsafeMutableRawPointer { easy.pointer }

    init(_ settings: SlotSettings) throws(HTTPError) {
        easy = try EasyHandle()
        receiving = Receiving(maximumBytes: settings.maximumResponseBytes)
        try settings.apply(to: easy)
        // libcurl does not retain it: a slot outlives its handle.
        let own = Unmanaged.passUnretained(self).toOpaque()
        try easy.set(CURLOPT_WRITEDATA, pointer: own)
        try easy.set(CURLOPT_WRITEFUNCTION) { bytes, _, count, slot in
            Slot.of(slot)?.receiving.takeBody(bytes, count) ?? 0
        }
        try easy.set(CURLOPT_HEADERDATA, pointer: own)
        try easy.set(CURLOPT_HEADERFUNCTION) { bytes, _, count, slot in
            Slot.of(slot)?.receiving.takeHeader(bytes, count) ?? 0
        }
    }

    deinit { curl_slist_free_all(headerLines) }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> Slot? {
        pointer.map { Unmanaged<Slot>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Prepares the handle for a job; the loop adds it to the multi handle.
    func begin(_ job: Job) throws(HTTPError) {
        easy.forgetText()
        try easy.set(CURLOPT_URL, job.request.url)
        try easy.set(CURLOPT_TIMEOUT_MS, SlotSettings.milliseconds(job.timeout))
        // Waits for a connection that is being made, since it may turn out to carry many transfers. Without TLS it
        // never does.
        try easy.set(CURLOPT_PIPEWAIT, job.target.isSecure ? 1 : 0)
        try setMethod(job.request)
        try setHeaders(job.request)
        self.job = job
    }

    /// Returns the job that has ended, and releases its answer and the body it sent.
    func finish() -> Job? {
        defer { job = nil }
        receiving = Receiving(maximumBytes: receiving.maximumBytes)
        // If libcurl refuses, the body goes with the next transfer's.
        try? easy.set(postFields: nil)
        return job
    }

    private func setMethod(_ request: HTTPRequest) throws(HTTPError) {
        // Each of these options undoes the others.
        if request.method == "HEAD" {
            try easy.set(CURLOPT_NOBODY, 1)
        } else if request.body != nil || request.method == "POST" {
            try easy.set(CURLOPT_POST, 1)
            try easy.set(postFields: request.body ?? Data())
        } else {
            try easy.set(CURLOPT_HTTPGET, 1)
        }
        try easy.set(CURLOPT_CUSTOMREQUEST, request.method)
    }

    private func setHeaders(_ request: HTTPRequest) throws(HTTPError) {
        curl_slist_free_all(headerLines)
        headerLines = nil
        for line in Self.headerLines(request) {
            guard let longer = curl_slist_append(headerLines, line) else {
                throw .other(code: Int(CURLE_OUT_OF_MEMORY.rawValue), "no memory for the headers")
            }
            headerLines = longer
        }
        try easy.set(CURLOPT_HTTPHEADER, headerLines)
    }

    /// The header lines in libcurl's notation: `Name;` is sent with an empty value, `Name:` not at all.
    private static func headerLines(_ request: HTTPRequest) -> [String] {
        // Without this, libcurl waits up to a second for the server's consent to a large body, and calls every body a
        // form.
        var lines = ["Expect:"]
        if request.headers.first("Content-Type") == nil { lines.append("Content-Type:") }
        for field in request.headers.fields {
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        return lines
    }
}

extension Slot {
    /// The result of a transfer that libcurl has ended.
    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        let status = easy.information(CURLINFO_RESPONSE_CODE)
        guard receiving.isHeadComplete, status >= 200 else {
            return .failure(.connectionLost("\(host): the connection ended within the answer's headers"))
        }
        return .success(
            HTTPResponse(
                status: status, headers: easy.headers, body: receiving.body,
                version: HTTPVersion(curl: easy.information(CURLINFO_HTTP_VERSION)), seconds: easy.seconds))
    }

    private func failure(_ code: CURLcode) -> HTTPError {
        if let limit = receiving.exceededLimit { return .responseTooLarge(limit: limit) }
        return HTTPError(
            code, easy.text(code), host: host, seconds: easy.seconds, maximumBytes: receiving.maximumBytes)
    }

    private var host: String { job?.target.host ?? "" }
}

extension HTTPVersion {
    fileprivate init(curl number: Int) {
        self =
            switch number {
            case Int(CURL_HTTP_VERSION_1_0): .http10
            case Int(CURL_HTTP_VERSION_2_0): .http2
            case Int(CURL_HTTP_VERSION_3): .http3
            default: .http11
            }
    }
}
