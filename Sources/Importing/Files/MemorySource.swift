package import Foundation

/// Bytes that are in memory already, such as an answer's.
package final class MemorySource: ByteSource {
    private let bytes: Data
    private var isRead = false

    package init(_ bytes: Data) {
        self.bytes = bytes
    }

    package func read(into buffer: inout [UInt8]) -> Bool {
        guard !isRead, !bytes.isEmpty else { return false }
        buffer += bytes
        isRead = true
        return true
    }
}
