import CZlib

/// Decompresses a gzip file; a file that is not compressed is passed through.
package final class GunzipSource: ByteSource {
    /// The compressed bytes end early, or are not what gzip writes.
    package struct Damaged: Error {}

    /// More was compressed than is taken.
    package struct TooLarge: Error {}

    private enum State {
        case unknown
        case plain
        /// Within a member of the file.
        case inflating
        /// After a member: the file ends, or another begins.
        case betweenMembers
    }

    private let source: any ByteSource
    /// The most bytes that are inflated, and how many were.
    private let most: Int
    private var inflated = 0
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var state = State.unknown
    /// Compressed bytes that were read but not yet inflated, from `start` on.
    private var compressed: [UInt8] = []
    private var start = 0
    private static let pieceSize = 1 << 18
    private static let magic: [UInt8] = [0x1F, 0x8B]

    package init(_ source: any ByteSource, most: Int = .max) {
        self.source = source
        self.most = most
        stream.initialize(to: z_stream())
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// - Throws: `Damaged`, `TooLarge`, or what the file throws.
    package func read(into buffer: inout [UInt8]) throws -> Bool {
        if state == .unknown { try begin() }
        guard state != .plain else { return try readPlain(into: &buffer) }
        while true {
            if start == compressed.count, try !refill() {
                guard state == .betweenMembers else { throw Damaged() }
                return false
            }
            if state == .betweenMembers {
                // Zeros after the last member are ignored, as gzip(1) does.
                if compressed[start...].allSatisfy({ $0 == 0 }) {
                    start = compressed.count
                    continue
                }
                guard inflateReset(stream) == Z_OK else { throw Damaged() }
                state = .inflating
            }
            let before = buffer.count
            guard try inflatePiece(into: &buffer) else { continue }
            inflated += buffer.count - before
            guard inflated <= most else { throw TooLarge() }
            return true
        }
    }

    private func begin() throws {
        while compressed.count < Self.magic.count, try source.read(into: &compressed) {}
        guard compressed.starts(with: Self.magic) else {
            state = .plain
            return
        }
        guard iap_begin_gunzip(stream) == Z_OK else { throw Damaged() }
        state = .inflating
    }

    private func readPlain(into buffer: inout [UInt8]) throws -> Bool {
        guard compressed.isEmpty else {
            buffer += compressed
            compressed = []
            return true
        }
        return try source.read(into: &buffer)
    }

    private func refill() throws -> Bool {
        compressed.removeAll(keepingCapacity: true)
        start = 0
        return try source.read(into: &compressed)
    }

    /// Appends the content of one piece of compressed bytes; returns false if there is none yet.
    private func inflatePiece(into buffer: inout [UInt8]) throws -> Bool {
        var result = Z_OK
        let before = buffer.count
        buffer += [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { bytes, used in
            compressed.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress.map { $0 + start }
                stream.pointee.avail_in = UInt32(input.count - start)
                stream.pointee.next_out = bytes.baseAddress
                stream.pointee.avail_out = UInt32(bytes.count)
                result = inflate(stream, Z_NO_FLUSH)
                start = input.count - Int(stream.pointee.avail_in)
            }
            used = bytes.count - Int(stream.pointee.avail_out)
        }
        switch result {
        case Z_STREAM_END: state = .betweenMembers
        case Z_OK, Z_BUF_ERROR: break
        default: throw Damaged()
        }
        return buffer.count > before
    }
}
