import Files
import Foundation
import Glibc
import Reconciliation

/// A file of the report while it is written: buffered, and readable by the group and nobody else.
final class ReportFile {
    let path: String
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    /// How many bytes were written so far.
    private(set) var size = 0

    private static let bufferSize = 64 * 1024

    init(path: String) throws(ReportError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw .failed(path: path, reason: Self.lastError()) }
        // Regardless of the umask.
        fchmod(descriptor, 0o640)
        buffer.reserveCapacity(Self.bufferSize * 2)
    }

    deinit { close(descriptor) }

    func write(_ text: String) throws(ReportError) {
        buffer.append(contentsOf: text.utf8)
        size += text.utf8.count
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Puts everything on the disk.
    func finish() throws(ReportError) {
        try flush()
        guard fsync(descriptor) == 0 else { throw .failed(path: path, reason: Self.lastError()) }
    }

    /// Removes a temporary file.
    func remove() {
        unlink(path)
    }

    /// Copies the content of another file so far to the end of this one.
    func append(contentsOf other: ReportFile) throws(ReportError) {
        try other.flush()
        let descriptor = open(other.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(path: other.path, reason: Self.lastError()) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        while let piece = try Self.piece(of: handle, at: other.path) {
            buffer.append(contentsOf: piece)
            size += piece.count
            try flush()
        }
    }

    /// The next bytes of another file; `nil` at its end.
    private static func piece(of handle: FileHandle, at path: String) throws(ReportError) -> Data? {
        do {
            guard let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty else { return nil }
            return piece
        } catch {
            throw .failed(path: path, reason: "\(error)")
        }
    }

    private func flush() throws(ReportError) {
        var start = 0
        while start < buffer.count {
            let written = buffer.withUnsafeBytes { bytes in
                Glibc.write(descriptor, bytes.baseAddress?.advanced(by: start), bytes.count - start)
            }
            if written < 0, errno == EINTR { continue }
            guard written >= 0 else { throw .failed(path: path, reason: Self.lastError()) }
            start += written
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Treats a file that a library has written as one of these: makes it readable by the group and nobody else, and
    /// puts it on the disk.
    static func settle(_ path: String) throws(ReportError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .failed(path: path, reason: lastError()) }
        defer { close(descriptor) }
        guard fchmod(descriptor, 0o640) == 0, fsync(descriptor) == 0 else {
            throw .failed(path: path, reason: lastError())
        }
    }

    /// A new file whose path begins so.
    static func temporary(_ prefix: String) throws(ReportError) -> TemporaryFile {
        do {
            return try TemporaryFile(prefix)
        } catch {
            throw .failed(path: prefix, reason: "\(error)")
        }
    }

    /// Why the system's last call failed.
    static func lastError() -> String { SystemFailure().description }
}
