import Foundation
import Glibc
import Importing
import Job
import Reconciliation
import Reporting

/// The account of lines that were not taken: in a CSV file if one is named, otherwise the first of them in the log.
struct RefusedLines {
    private let file: String?
    private let handle: FileHandle?
    private let log: @Sendable (LogEntry) -> Void
    private var count = 0
    private var isBegun = false
    /// How many lines the log names if there is no file; the others are only counted.
    static let named = 20

    /// Opens the file and leaves its content until the first line is refused, or the end; then it is written anew. An
    /// import that is started again lists every refused line again.
    ///
    /// - Parameter inputs: the files that are read, which it must not be one of; `-` is standard input.
    init(
        file: String?, inputs: [String], log: @escaping @Sendable (LogEntry) -> Void
    ) throws(UnwritableFile) {
        self.file = file
        self.log = log
        guard let file else {
            handle = nil
            return
        }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o640)
        guard descriptor >= 0 else { throw UnwritableFile(file, String(cString: strerror(errno))) }
        // Opened so that a pipe which nobody reads is no endless wait; written so that a slow reader is waited for.
        _ = fcntl(descriptor, F_SETFL, 0)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        if let input = FileIdentity(descriptor: descriptor)?.first(of: inputs) {
            throw UnwritableFile(file, "it is what is read\(input == "-" ? " on standard input" : ""); name another")
        }
    }

    mutating func take(_ lines: [RefusedLine]) throws(UnwritableFile) {
        defer { count += lines.count }
        guard handle != nil else { return name(lines) }
        try write(lines.map { CSV.line([String($0.line), $0.reason.rawValue, $0.id ?? "", $0.text]) }.joined())
    }

    private mutating func write(_ text: String) throws(UnwritableFile) {
        guard let handle, let file else { return }
        let head = isBegun ? "" : CSV.line(["line", "reason", "id", "what"])
        if !isBegun { try? handle.truncate(atOffset: 0) }
        isBegun = true
        var bytes = Array((head + text).utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(handle.fileDescriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw UnwritableFile(file, String(cString: strerror(errno))) }
            bytes = bytes.dropFirst(max(0, count))
        }
    }

    /// Says how many lines were not named, or that the file's account is complete.
    mutating func finish() throws(UnwritableFile) {
        if !isBegun { try write("") }
        guard handle == nil, count > Self.named else { return }
        let unnamed = (count - Self.named).counted("more line was refused", "more lines were refused")
        log(LogEntry(.warning, "\(unnamed); --refused FILE writes all"))
    }

    private func name(_ lines: [RefusedLine]) {
        for line in lines.prefix(max(0, Self.named - count)) {
            var fields = ["line": String(line.line), "reason": line.reason.rawValue]
            fields["id"] = line.id
            log(LogEntry(.warning, "refused: \(line.text)", fields: fields))
        }
    }
}

/// A file of the command line that can't be written.
struct UnwritableFile: ForeseenError {
    let description: String
    let exitCode = ExitCode.noPermission

    init(_ file: String, _ why: String) {
        description = "\(file) can't be written: \(why)"
    }
}
