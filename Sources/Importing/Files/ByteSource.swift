import Files
import Foundation

/// Gives a file piece by piece.
package protocol ByteSource {
    /// Appends the next piece; false at the end.
    func read(into buffer: inout [UInt8]) throws -> Bool
}

/// A file, or standard input, read as it arrives.
package final class FileSource: ByteSource {
    /// The size in bytes, if it is known beforehand.
    package let size: Int?
    private let name: String
    private let descriptor: Int32
    private let isStopped: @Sendable () -> Bool
    private static let pieceSize = 1 << 18
    /// The milliseconds after which a wait for a pipe checks whether the import was asked to stop.
    private static let patience: Int32 = 200

    /// - Parameters:
    ///   - name: `-` is standard input.
    ///   - followsLinks: whether it may be a link to a file elsewhere.
    ///   - isStopped: whether the import was asked to stop.
    /// - Throws: `ImportError.unreadable`.
    package convenience init(
        _ name: String, followsLinks: Bool = true, isStopped: @escaping @Sendable () -> Bool
    ) throws(ImportError) {
        // Non-blocking: opening a pipe that nobody writes into would keep a signal waiting.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)
        try self.init(
            owning: name == "-" ? dup(STDIN_FILENO) : open(name, flags), named: name, isStopped: isStopped)
    }

    /// Reads on from where an opened file stands, whatever has its name now.
    ///
    /// - Throws: `ImportError.unreadable`.
    convenience init(
        _ file: FileHandle, named name: String, isStopped: @escaping @Sendable () -> Bool
    ) throws(ImportError) {
        try self.init(owning: dup(file.fileDescriptor), named: name, isStopped: isStopped)
    }

    private init(
        owning descriptor: Int32, named name: String, isStopped: @escaping @Sendable () -> Bool
    ) throws(ImportError) {
        self.name = name
        self.isStopped = isStopped
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw Self.unreadable(name) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.unreadable(name) }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }

    deinit { close(descriptor) }

    package func read(into buffer: inout [UInt8]) throws -> Bool {
        var count = -1
        repeat {
            try waitUntilReadable()
            buffer += [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { bytes, used in
                count = Foundation.read(descriptor, bytes.baseAddress, bytes.count)
                used = max(0, count)
            }
        } while count < 0 && errno == EAGAIN
        guard count >= 0 else { throw Self.unreadable(name) }
        return count > 0
    }

    private func waitUntilReadable() throws {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            guard !isStopped(), !Task.isCancelled else { throw CancellationError() }
            if poll(&request, 1, Self.patience) > 0 { return }
        }
    }

    private static func unreadable(_ name: String) -> ImportError {
        .unreadable(file: name, why: "\(SystemFailure())")
    }
}
