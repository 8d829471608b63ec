import CMicroHTTPD

extension Answer {
    /// Passes the answer to libmicrohttpd, which keeps a copy of it.
    func queue(on connection: OpaquePointer?) -> MHD_Result {
        guard let response = cutAfter.map(partialResponse) ?? wholeResponse() else { return .NO }
        defer { MHD_destroy_response(response) }
        MHD_add_response_header(response, "Content-Type", contentType)
        if let retryAfter { MHD_add_response_header(response, "Retry-After", retryAfter) }
        return MHD_queue_response(connection, status, response)
    }

    private func wholeResponse() -> OpaquePointer? {
        var body = body
        return body.withUnsafeMutableBytes {
            MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
        }
    }

    /// Announces the whole body and fails after a part of it, so that libmicrohttpd closes the connection.
    private func partialResponse(_ length: Int) -> OpaquePointer? {
        let part = Unmanaged.passRetained(PartialBody(Array(body.prefix(length)))).toOpaque()
        return MHD_create_response_from_callback(
            UInt64(body.count), 4096,
            { context, position, buffer, room in
                guard let context, let buffer else { return PartialBody.endWithError }
                return Unmanaged<PartialBody>.fromOpaque(context).takeUnretainedValue()
                    .copy(from: Int(position), to: UnsafeMutableRawBufferPointer(start: buffer, count: room))
            },
            part,
            { context in
                guard let context else { return }
                Unmanaged<PartialBody>.fromOpaque(context).release()
            })
    }
}

/// The part of a body that is sent before the connection ends.
private final class PartialBody {
    /// libmicrohttpd's MHD_CONTENT_READER_END_WITH_ERROR, a macro that Swift can't import.
    static let endWithError = -2
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    func copy(from position: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard position < bytes.count else { return Self.endWithError }
        let part = bytes[position...].prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }
}
