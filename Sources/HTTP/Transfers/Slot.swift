import CCurl
import Foundation

/// An easy handle of libcurl, used for one transfer after the other, and what it is receiving.
final class Slot {
    let handle: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var receiving: Receiving
    private var job: Job?
    private var headerLines: UnsafeMutablePointer<curl_slist>?

    /// Nothing if there is no memory left.
    init?(_ settings: SlotSettings) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        receiving = Receiving(maximumBytes: settings.maximumResponseBytes)
        settings.apply(to: handle)
        curl_easy_setopt_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        // Not retained by libcurl: a slot outlives its handle.
        let own = Unmanaged.passUnretained(self).toOpaque()
        curl_easy_setopt_pointer(handle, CURLOPT_WRITEDATA, own)
        curl_easy_setopt_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, _, count, slot in
            Slot.of(slot)?.receiving.takeBody(bytes, count) ?? 0
        }
        curl_easy_setopt_pointer(handle, CURLOPT_HEADERDATA, own)
        curl_easy_setopt_callback(handle, CURLOPT_HEADERFUNCTION) { _, _, count, slot in
            Slot.of(slot)?.receiving.takeHeader(count) ?? 0
        }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerLines)
        errorText.deallocate()
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> Slot? {
        pointer.map { Unmanaged<Slot>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Prepares the handle; it's the caller who adds it to the multi handle.
    func begin(_ job: Job) {
        self.job = job
        receiving = Receiving(maximumBytes: receiving.maximumBytes)
        errorText[0] = 0
        curl_easy_setopt_string(handle, CURLOPT_URL, job.request.url)
        curl_easy_setopt_long(handle, CURLOPT_TIMEOUT_MS, SlotSettings.milliseconds(job.timeout))
        // Wait for a connection that is being made, since it may turn out to carry many transfers. Without TLS it never
        // does.
        curl_easy_setopt_long(handle, CURLOPT_PIPEWAIT, job.target.isSecure ? 1 : 0)
        setMethod(job.request)
        setHeaders(job.request)
    }

    /// The job that has ended; the body it sent is let go.
    func finish() -> Job? {
        defer { job = nil }
        receiving = Receiving(maximumBytes: receiving.maximumBytes)
        curl_easy_setopt_pointer(handle, CURLOPT_COPYPOSTFIELDS, nil)
        return job
    }

    private func setMethod(_ request: HTTPRequest) {
        // Each of these undoes the others.
        if request.method == "HEAD" {
            curl_easy_setopt_long(handle, CURLOPT_NOBODY, 1)
        } else if request.body != nil || request.method == "POST" {
            setBody(request.body ?? Data())
        } else {
            curl_easy_setopt_long(handle, CURLOPT_HTTPGET, 1)
        }
        curl_easy_setopt_string(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }

    private func setBody(_ body: Data) {
        curl_easy_setopt_long(handle, CURLOPT_POST, 1)
        curl_easy_setopt_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        body.withUnsafeBytes { bytes in
            // An empty body is one too; libcurl takes no bytes for no body.
            _ = withUnsafeBytes(of: 0) { empty in
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? empty.baseAddress)
                return curl_easy_setopt_pointer(handle, CURLOPT_COPYPOSTFIELDS, start)
            }
        }
    }

    private func setHeaders(_ request: HTTPRequest) {
        curl_slist_free_all(headerLines)
        headerLines = nil
        for line in Self.headerLines(request) { headerLines = curl_slist_append(headerLines, line) ?? headerLines }
        curl_easy_setopt_list(handle, CURLOPT_HTTPHEADER, headerLines)
    }

    /// In libcurl's writing: `Name;` is sent with an empty value, `Name:` not at all.
    private static func headerLines(_ request: HTTPRequest) -> [String] {
        // To wait for the server's consent before a large body costs a second where it never comes.
        var lines = ["Expect:"]
        if request.body != nil, request.headers.first("Content-Type") == nil { lines.append("Content-Type:") }
        for field in request.headers.fields {
            lines.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        return lines
    }
}

extension Slot {
    /// What a transfer that libcurl has ended came to.
    func result(_ code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        guard code == CURLE_OK else { return .failure(failure(code)) }
        return .success(
            HTTPResponse(
                status: information(CURLINFO_RESPONSE_CODE), headers: headers, body: receiving.body,
                version: version, seconds: seconds))
    }

    private func failure(_ code: CURLcode) -> HTTPError {
        if let limit = receiving.exceededLimit { return .responseTooLarge(limit: limit) }
        let text = errorText[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorText)
        return HTTPError(
            code, text, host: job?.target.host ?? "", seconds: seconds, maximumBytes: receiving.maximumBytes)
    }

    private var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        var last: UnsafeMutablePointer<curl_header>?
        while let field = curl_easy_nextheader(handle, UInt32(CURLH_HEADER), -1, last) {
            headers.append(String(cString: field.pointee.name), String(cString: field.pointee.value))
            last = field
        }
        return headers
    }

    private var version: HTTPVersion {
        switch information(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): .http1_0
        case Int(CURL_HTTP_VERSION_2_0): .http2
        case Int(CURL_HTTP_VERSION_3): .http3
        default: .http1_1
        }
    }

    private var seconds: TimeInterval {
        var microseconds: curl_off_t = 0
        curl_easy_getinfo_offset(handle, CURLINFO_TOTAL_TIME_T, &microseconds)
        return TimeInterval(microseconds) / 1_000_000
    }

    private func information(_ name: CURLINFO) -> Int {
        var value = 0
        curl_easy_getinfo_long(handle, name, &value)
        return value
    }
}
