import CCurl
import Foundation

/// An easy handle of libcurl: options in, information out. An option that libcurl refuses is an error, since the
/// previous transfer's value would stay in place.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init() throws(HTTPError) {
        guard let pointer = curl_easy_init() else {
            throw .other(code: Int(CURLE_OUT_OF_MEMORY.rawValue), "no memory for a transfer")
        }
        self.pointer = pointer
        forgetText()
        try set(CURLOPT_ERRORBUFFER, pointer: errorText)
    }

    deinit {
        curl_easy_cleanup(pointer)
        errorText.deallocate()
    }

    /// libcurl's message for an error, which names a host or a certificate but no URL.
    func text(_ code: CURLcode) -> String {
        errorText[0] == 0 ? String(cString: curl_easy_strerror(code)) : String(cString: errorText)
    }

    /// Clears the message: libcurl leaves the last transfer's in place if it has none for the next one.
    func forgetText() { errorText[0] = 0 }
}

extension EasyHandle {
    func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        try check(curl_easy_setopt_long(pointer, option, value), option)
    }

    /// Sets an option that takes a `curl_off_t`.
    func set(_ option: CURLoption, offset: Int) throws(HTTPError) {
        try check(curl_easy_setopt_offset(pointer, option, curl_off_t(offset)), option)
    }

    /// Sets an option whose value libcurl copies.
    func set(_ option: CURLoption, _ value: String?) throws(HTTPError) {
        try check(curl_easy_setopt_string(pointer, option, value), option)
    }

    /// Sets an option whose pointer libcurl keeps.
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) throws(HTTPError) {
        try check(curl_easy_setopt_pointer(pointer, option, value), option)
    }

    /// Sets an option whose value libcurl copies.
    func set(_ option: CURLoption, blob: Data) throws(HTTPError) {
        var blob = blob
        let code = blob.withUnsafeMutableBytes { bytes in
            var blob = curl_blob(data: bytes.baseAddress, len: bytes.count, flags: UInt32(CURL_BLOB_COPY))
            return curl_easy_setopt_blob(pointer, option, &blob)
        }
        try check(code, option)
    }

    /// Sets an option whose list libcurl keeps.
    func set(_ option: CURLoption, _ list: UnsafeMutablePointer<curl_slist>?) throws(HTTPError) {
        try check(curl_easy_setopt_list(pointer, option, list), option)
    }

    func set(_ option: CURLoption, callback: curl_write_callback) throws(HTTPError) {
        try check(curl_easy_setopt_callback(pointer, option, callback), option)
    }

    /// Sets the body, of which libcurl keeps a copy; `nil` releases the last one.
    func set(postFields body: Data?) throws(HTTPError) {
        try set(CURLOPT_POSTFIELDSIZE_LARGE, offset: body?.count ?? 0)
        guard let body else { return try set(CURLOPT_COPYPOSTFIELDS, pointer: nil) }
        let code = body.withUnsafeBytes { bytes in
            // An empty body is a body too, but for libcurl a null pointer would be none.
            withUnsafeBytes(of: UInt8(0)) { nothing in
                let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? nothing.baseAddress)
                return curl_easy_setopt_pointer(pointer, CURLOPT_COPYPOSTFIELDS, start)
            }
        }
        try check(code, CURLOPT_COPYPOSTFIELDS)
    }

    private func check(_ code: CURLcode, _ option: CURLoption) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        let name = curl_easy_option_by_id(option).map { String(cString: $0.pointee.name) } ?? "\(option.rawValue)"
        throw .other(code: Int(code.rawValue), "option \(name): \(String(cString: curl_easy_strerror(code)))")
    }
}

extension EasyHandle {
    func information(_ name: CURLINFO) -> Int {
        var value = 0
        curl_easy_getinfo_long(pointer, name, &value)
        return value
    }

    func text(_ name: CURLINFO) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_easy_getinfo_string(pointer, name, &value) == CURLE_OK else { return nil }
        return value.map { String(cString: $0) }
    }

    /// How long the transfer has taken so far.
    var seconds: TimeInterval {
        var microseconds: curl_off_t = 0
        curl_easy_getinfo_offset(pointer, CURLINFO_TOTAL_TIME_T, &microseconds)
        return TimeInterval(microseconds) / 1_000_000
    }

    /// The headers of the final answer, without trailers.
    var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        var last: UnsafeMutablePointer<curl_header>?
        while let field = curl_easy_nextheader(pointer, UInt32(CURLH_HEADER), -1, last) {
            headers.append(String(cString: field.pointee.name), Self.value(field.pointee.value))
            last = field
        }
        return headers
    }

    /// Trims a value: libcurl 7.88 leaves the line end in an empty one.
    private static func value(_ bytes: UnsafePointer<CChar>) -> String {
        let value = String(cString: bytes)
        return value.allSatisfy(\.isNewline) ? "" : value
    }
}
