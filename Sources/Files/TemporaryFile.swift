public import Foundation

/// A new file that only its owner may read, under a name that no other has. Programs that are started don't inherit it.
public struct TemporaryFile: Sendable {
    public let path: String
    public let handle: FileHandle

    /// - Parameters:
    ///   - prefix: its path up to the letters that make it unique.
    ///   - ending: what follows these.
    public init(_ prefix: String, ending: String = "") throws(SystemFailure) {
        var template = Array("\(prefix)XXXXXX\(ending)".utf8CString)
        let descriptor = mkstemps(&template, Int32(ending.utf8.count))
        guard descriptor >= 0 else { throw SystemFailure() }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// In the folder that the environment names for such files.
    public init() throws(SystemFailure) {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        try self.init("\(folder)/iap-reconcile-")
    }

    /// Takes the place of another, in one step.
    public func replace(_ other: String, mode: mode_t) throws(SystemFailure) {
        guard fchmod(handle.fileDescriptor, mode) == 0, rename(path, other) == 0 else { throw SystemFailure() }
    }

    /// Takes its name away. It lasts as long as somebody has it open.
    public func remove() { unlink(path) }
}
