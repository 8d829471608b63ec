import Foundation

/// An answer that no client should wait for or hold in memory.
enum NastyAnswer: CaseIterable {
    /// 100 MB, as its head announces.
    case huge
    /// 100 MB, which its head does not announce.
    case hugeUnannounced
    /// A byte now and then, endlessly.
    case endless

    private static let bytes = 100 * 1024 * 1024

    /// Reads a request and sends the answer, as far as the client takes it.
    func send(to client: Int32) {
        var request = [UInt8](repeating: 0, count: 65_536)
        guard read(client, &request, request.count) > 0 else { return }
        let length = self == .huge ? "Content-Length: \(Self.bytes)\r\n" : "Connection: close\r\n"
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\(length)\r\n{\"status\":0,\"receipt\":\""
        guard TCP.send(head.utf8, to: client) else { return }
        let piece = [UInt8](repeating: UInt8(ascii: "A"), count: self == .endless ? 1 : 1 << 20)
        var sent = 0
        while sent < Self.bytes, TCP.send(piece, to: client) {
            sent += piece.count
            if self == .endless { usleep(50_000) }
        }
    }
}
