import Foundation
import Synchronization

/// The two ends of a pipe. What Foundation's Process starts inherits neither; `Spawn` hands nothing over by itself.
struct PipeEnds {
    let reading: Int32
    let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw ChildProcess.Failure(description: "no pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
    }
}

/// Reads all that comes out of a pipe, on a thread of its own.
final class PipeReader: Sendable {
    private let data = Mutex(Data())
    private let isClosed = Promise<Bool>()

    init(_ descriptor: Int32) {
        DispatchQueue(label: "PipeReader").async { self.read(descriptor) }
    }

    /// What came so far.
    var text: String { data.withLock { String(decoding: $0, as: UTF8.self) } }

    /// Everything, once the last writer has gone.
    func all() async -> String {
        _ = await isClosed.wait()
        return text
    }

    private func read(_ descriptor: Int32) {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Foundation.read(descriptor, &piece, piece.count)
            if count > 0 { data.withLock { $0.append(contentsOf: piece[..<count]) } }
            if count == 0 || (count < 0 && errno != EINTR) { break }
        }
        close(descriptor)
        isClosed.keep(true)
    }
}

/// Writes into a pipe, on a thread of its own, since the reader may take its time. The pipe ends with `close`, or with
/// its writer.
final class PipeWriter: Sendable {
    private let handle: FileHandle
    private let queue = DispatchQueue(label: "PipeWriter")

    init(_ descriptor: Int32) {
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// After what was given before. A reader that has gone is none of the writer's business.
    func write(_ text: String) {
        queue.async { [handle] in try? handle.write(contentsOf: Data(text.utf8)) }
    }

    /// Once all is written.
    func close() {
        queue.async { [handle] in try? handle.close() }
    }
}
