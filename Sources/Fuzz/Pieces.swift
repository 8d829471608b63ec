import Foundation

@testable import Importing

/// Bytes that come in pieces, as a file does.
final class Pieces: ByteSource {
    private var rest: ArraySlice<UInt8>
    private let size: Int

    init(_ bytes: ArraySlice<UInt8>, size: Int) {
        rest = bytes
        self.size = size
    }

    func read(into buffer: inout [UInt8]) -> Bool {
        let piece = rest.prefix(size)
        buffer += piece
        rest = rest.dropFirst(size)
        return !piece.isEmpty
    }
}

enum Waiting {
    /// Runs the work to its end on another thread: libFuzzer knows nothing of tasks.
    static func forEnd(of work: @escaping @Sendable () async -> Void) {
        let done = DispatchSemaphore(value: 0)
        Task {
            await work()
            done.signal()
        }
        done.wait()
    }
}
