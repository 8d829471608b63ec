import COpenSSL

/// Returns the value, or ends the simulator. OpenSSL fails here only if it lacks memory or an algorithm, and then no
/// receipt could be signed.
func demanded<Value>(_ value: Value?, _ what: StaticString) -> Value {
    guard let value else { preconditionFailure("OpenSSL could not \(what)") }
    return value
}

/// As `demanded`, for functions that return 1 on success.
func demand(_ result: Int32, _ what: StaticString) {
    precondition(result == 1, "OpenSSL could not \(what)")
}

/// How bytes are passed to OpenSSL and come back.
enum OpenSSLBytes {
    /// Passes OpenSSL a buffer that reads these bytes.
    static func reading<Value>(_ bytes: [UInt8], _ body: (OpaquePointer) -> Value) -> Value {
        bytes.withUnsafeBytes {
            let buffer = demanded(BIO_new_mem_buf($0.baseAddress, Int32($0.count)), "read from memory")
            defer { BIO_free(buffer) }
            return body(buffer)
        }
    }

    /// Returns what OpenSSL writes to the buffer.
    static func writing(_ body: (OpaquePointer) -> Void) -> [UInt8] {
        let buffer = demanded(BIO_new(BIO_s_mem()), "write to memory")
        defer { BIO_free(buffer) }
        body(buffer)
        var contents: UnsafePointer<UInt8>?
        let length = COpenSSL_contents(buffer, &contents)
        return Array(UnsafeBufferPointer(start: contents, count: length))
    }

    /// Returns the DER form that one of the functions `i2d_…` writes to its own memory.
    static func encoding(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> [UInt8] {
        var buffer: UnsafeMutablePointer<UInt8>?
        let length = write(&buffer)
        let bytes = demanded(buffer, "write DER")
        defer { COpenSSL_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(length)))
    }
}
