import Files
import Foundation

/// The socket calls that a proxy needs.
enum TCP {
    /// Listens on a free port of loopback.
    static func listen() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, stream, 0)
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else { throw Broken("can't listen on loopback: \(SystemFailure())") }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    /// `nil` if nobody answers.
    static func connect(to server: Proxy.Server) -> Int32? {
        let descriptor: Int32
        let isConnected: Bool
        switch server {
        case .unix(let path):
            descriptor = socket(AF_UNIX, stream, 0)
            var address = unix(path)
            isConnected = connect(descriptor, &address)
        case .loopback(let port):
            descriptor = socket(AF_INET, stream, 0)
            var address = loopback(port: port)
            isConnected = connect(descriptor, &address)
        }
        guard isConnected else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Sends all bytes; returns false if the other side is gone.
    static func send(_ bytes: some Collection<UInt8>, to descriptor: Int32) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    private static let stream = Int32(SOCK_STREAM.rawValue)

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) -> Bool {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size)) == 0
            }
        }
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func unix(_ path: String) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return address
    }
}
