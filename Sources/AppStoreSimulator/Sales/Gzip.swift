import CZlib

/// Compresses as gzip does; the same bytes always give the same result.
public enum Gzip {
    /// Compresses the bytes to one member of a gzip file.
    public static func compressed(_ bytes: [UInt8]) throws(SimulatorError) -> [UInt8] {
        var stream = z_stream()
        guard iap_begin_gzip(&stream) == Z_OK else { throw .invalidOption("zlib has no memory") }
        defer { deflateEnd(&stream) }
        var input = bytes
        var result = Z_OK
        let compressed = input.withUnsafeMutableBufferPointer { input in
            let bound = Int(deflateBound(&stream, UInt(input.count)))
            return [UInt8](unsafeUninitializedCapacity: bound) { output, used in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                result = deflate(&stream, Z_FINISH)
                used = output.count - Int(stream.avail_out)
            }
        }
        guard result == Z_STREAM_END else { throw .invalidOption("zlib could not compress \(bytes.count) bytes") }
        return compressed
    }
}
