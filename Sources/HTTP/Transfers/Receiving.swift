import Foundation

/// The answer as it arrives, within its limits.
struct Receiving {
    /// The limit for all header lines together, which libcurl itself doesn't limit.
    static let maximumHeaderBytes = 256 * 1024

    let maximumBytes: Int
    private(set) var body = Data()
    private var headerBytes = 0
    /// Whether the empty line after the headers came; libcurl doesn't notice if the connection ends before it.
    private(set) var isHeadComplete = false
    /// The limit that the answer exceeded.
    private(set) var exceededLimit: Int?

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Returns how many bytes were taken: libcurl ends the transfer unless that's all of them.
    mutating func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let bytes, count <= maximumBytes - body.count else {
            exceededLimit = maximumBytes
            return 0
        }
        bytes.withMemoryRebound(to: UInt8.self, capacity: count) { body.append($0, count: count) }
        return count
    }

    /// Looks only for the end of the head: libcurl keeps the lines.
    mutating func takeHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let line = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
        headerBytes += count
        guard headerBytes <= Self.maximumHeaderBytes else {
            exceededLimit = Self.maximumHeaderBytes
            return 0
        }
        if line.starts(with: "HTTP/".utf8) { isHeadComplete = false }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isHeadComplete = true }
        return count
    }
}
