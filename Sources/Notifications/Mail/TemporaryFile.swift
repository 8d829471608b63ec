import Foundation

/// A file without a name, which disappears as soon as nobody has it open.
struct TemporaryFile {
    let handle: FileHandle

    init() throws(NotificationError) {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        var template = Array("\(folder)/iap-reconcile-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else {
            throw NotificationError("no file can be made in \(folder): \(String(cString: strerror(errno)))")
        }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func rewind() throws { try handle.seek(toOffset: 0) }
}
