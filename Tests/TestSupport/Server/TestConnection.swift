public import Foundation
import Glibc

/// What came over a connection, as it was written.
public struct ReceivedRequest: Sendable, Equatable {
    public let method: String
    /// The path with its query.
    public let path: String
    public let headerLines: [String]
    public let body: Data
    /// The number, from 0, of the connection.
    public let connection: Int

    /// The value of a header, however its name is written.
    public func header(_ name: String) -> String? {
        let prefix = name.lowercased() + ":"
        return headerLines.first { $0.lowercased().hasPrefix(prefix) }
            .map { $0.dropFirst(prefix.count).trimmingCharacters(in: .whitespaces) }
    }
}

/// The server's end of a connection.
public struct TestConnection: Sendable {
    public let descriptor: Int32
    public let number: Int

    /// Writes as it is; false if the other end is gone.
    @discardableResult
    public func write(_ text: String) -> Bool { write(Data(text.utf8)) }

    @discardableResult
    public func write(_ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            var sent = 0
            while sent < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                let count = send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// A well-formed answer.
    @discardableResult
    public func respond(
        _ status: Int = 200, headers: [String] = [], body: Data = Data(), then ending: TestServer.Ending = .keepAlive
    ) -> TestServer.Ending {
        let lines = ["HTTP/1.1 \(status) Word", "Content-Length: \(body.count)"] + headers + ["", ""]
        write(Data(lines.joined(separator: "\r\n").utf8) + body)
        return ending
    }

    /// No answer, until the other end is gone.
    public func staySilent() -> TestServer.Ending {
        var byte: UInt8 = 0
        while recv(descriptor, &byte, 1, 0) > 0 {}
        return .close
    }

    /// The next request, once all of it is here; nothing when the other end is gone.
    func receive() -> ReceivedRequest? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var head: (lines: [String], end: Int, length: Int)?
        while true {
            head = head ?? Self.head(of: bytes)
            if let head, bytes.count >= head.end + head.length { return request(head.lines, bytes[head.end...]) }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    private static func head(of bytes: Data) -> (lines: [String], end: Int, length: Int)? {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let length = lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        return (lines, end.upperBound, length ?? 0)
    }

    private func request(_ lines: [String], _ body: Data) -> ReceivedRequest {
        let words = lines[0].split(separator: " ").map(String.init)
        return ReceivedRequest(
            method: words[0], path: words[1], headerLines: Array(lines.dropFirst()), body: Data(body),
            connection: number)
    }
}
