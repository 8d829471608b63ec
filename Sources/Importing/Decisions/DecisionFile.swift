import Files
import Foundation

/// A file of decisions, opened once: what is examined is what is read, whatever takes its name meanwhile.
package struct DecisionFile: Sendable {
    enum Kind {
        case csv, spreadsheet
    }

    let path: String
    let handle: FileHandle

    /// For whoever asks the system whose it is.
    package var descriptor: Int32 { handle.fileDescriptor }

    /// The largest file that is read, in bytes: a report of some hundred thousand cases.
    private static let largest = 64 << 20

    /// - Parameter followsLinks: whether it may be a link to a file elsewhere.
    /// - Throws: `DecisionFileError.unreadable`.
    package init(_ path: String, followsLinks: Bool = true) throws(DecisionFileError) {
        self.path = path
        // Non-blocking: opening a pipe that nobody writes into would keep the night waiting.
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        guard opened >= 0 else { throw .unreadable(file: path, why: "\(SystemFailure())") }
        handle = FileHandle(fileDescriptor: opened, closeOnDealloc: true)
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .unreadable(file: path, why: "it is no regular file")
        }
        guard status.st_size <= Self.largest else {
            let sizes = (of: status.st_size >> 20, most: Self.largest >> 20)
            throw .unreadable(file: path, why: "it has \(sizes.of) MiB, and at most \(sizes.most) are read")
        }
    }

    /// Goes by its first bytes, as people change names.
    func kind() throws(DecisionFileError) -> Kind {
        let head = [UInt8](unsafeUninitializedCapacity: 4) { bytes, used in
            used = max(0, pread(descriptor, bytes.baseAddress, bytes.count, 0))
        }
        if head.starts(with: [0x50, 0x4B, 0x03, 0x04]) { return .spreadsheet }
        if head.starts(with: [0xD0, 0xCF, 0x11, 0xE0]) {
            let why = "it is an old .xls file, or has a password; save it as .xlsx or as CSV UTF-8"
            throw .unreadable(file: path, why: why)
        }
        if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) {
            throw .unreadable(file: path, why: "it is UTF-16; save it as CSV UTF-8")
        }
        return .csv
    }
}
