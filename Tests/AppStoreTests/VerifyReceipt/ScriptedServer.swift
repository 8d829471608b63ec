import Foundation
import Glibc
import Synchronization

/// A real HTTP server on a free port of the loopback interface, which answers as a test's script says and remembers
/// what it was asked.
final class ScriptedServer: Sendable {
    struct Request: Sendable, Equatable {
        let method: String
        let path: String
        let contentType: String?
        let authorization: String?
        let body: Data

        /// A field of the body's JSON object.
        func field(_ name: String) -> String? {
            let object = try? JSONSerialization.jsonObject(with: body) as? [String: Any]
            return (object?[name]).map { "\($0)" }
        }
    }

    enum Reply: Sendable {
        /// HTTP status 200 with `{"status": N}`.
        case status(Int)
        case json(String)
        case http(Int, headers: [String: String] = [:], body: String = "")
        /// A body that is no text.
        case data(Data)
        /// The connection is closed in the middle of the body.
        case cut
        /// No answer comes until the server stops.
        case silence
    }

    private let listener: Int32
    private let port: UInt16
    private let requests = Mutex([Request]())
    private let open = Mutex(Set<Int32>())
    /// The request, and the number (from 0) of earlier ones for the same path.
    private let script: @Sendable (Request, Int) -> Reply

    init(_ script: @escaping @Sendable (Request, Int) -> Reply) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try Self.listen(listener)
        self.script = script
        Thread.detachNewThread { [self, listener] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                open.withLock { _ = $0.insert(connection) }
                Thread.detachNewThread { [self] in serve(connection) }
            }
            // Only here: once closed, its number may be another test's server's, whose guests this loop would take.
            close(listener)
        }
    }

    /// The address of a path.
    func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    /// What was asked so far.
    var received: [Request] { requests.withLock { $0 } }

    /// Ends every connection and accepts no other.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        open.withLock { for connection in $0 { shutdown(connection, Int32(SHUT_RDWR)) } }
    }

    private static func listen(_ listener: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let failed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) != 0 || Glibc.listen(listener, 128) != 0
                    || getsockname(listener, address, &length) != 0
            }
        }
        if failed { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return UInt16(bigEndian: address.sin_port)
    }

    private func serve(_ connection: Int32) {
        defer {
            open.withLock { _ = $0.remove(connection) }
            close(connection)
        }
        guard let request = read(from: connection) else { return }
        let earlier = requests.withLock { requests in
            defer { requests.append(request) }
            return requests.count { $0.path == request.path }
        }
        switch script(request, earlier) {
        case .status(let status): send(200, [:], #"{"status":\#(status)}"#, to: connection)
        case .json(let json): send(200, [:], json, to: connection)
        case .http(let status, let headers, let body): send(status, headers, body, to: connection)
        case .data(let data):
            write("HTTP/1.1 200 OK\r\nContent-Length: \(data.count)\r\nConnection: close\r\n\r\n", to: connection)
            write(Array(data), to: connection)
        case .cut: write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"status\":", to: connection)
        case .silence:
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
        }
    }

    private func send(_ status: Int, _ headers: [String: String], _ body: String, to connection: Int32) {
        let headers = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        write(
            "HTTP/1.1 \(status) Scripted\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\(headers)\r\n"
                + body, to: connection)
    }

    private func write(_ text: String, to connection: Int32) { write(Array(text.utf8), to: connection) }

    private func write(_ bytes: [UInt8], to connection: Int32) {
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func read(from connection: Int32) -> Request? {
        var bytes = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let request = Self.parse(bytes) { return request }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    /// The request, once all of it has come.
    private static func parse(_ bytes: Data) -> Request? {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.last?.trimmingCharacters(in: .whitespaces)
        }
        let body = bytes[end.upperBound...]
        let words = lines[0].split(separator: " ")
        guard body.count >= Int(headers["content-length"] ?? "0") ?? 0, words.count == 3 else { return nil }
        return Request(
            method: String(words[0]), path: String(words[1].dropFirst()), contentType: headers["content-type"],
            authorization: headers["authorization"], body: Data(body))
    }
}
