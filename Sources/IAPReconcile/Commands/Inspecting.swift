import Commands
import Foundation
import Reconciliation
import Reporting

/// The command `inspect`, which needs no configuration. It inspects files and prints a line of JSON for each.
struct Inspecting {
    /// `-` is standard input.
    let files: [String]
    let trustRoot: String?

    /// Ends with 0 only if every file is proven by its signature.
    func perform() throws -> ExitCode {
        let inspector = try inspector()
        var areAllValid = true
        for file in files {
            let inspection = inspect(file, with: inspector)
            StandardOutput.write(Printable.json(inspection.line) + "\n")
            areAllValid = areAllValid && inspection.isValid
        }
        return areAllValid ? .done : .dataError
    }

    private func inspector() throws -> Inspector {
        guard let trustRoot else { return try Inspector() }
        do {
            return try Inspector(trusting: try Self.contents(of: trustRoot))
        } catch let error as UntrustableRoot {
            throw UnusableFile(description: "\(trustRoot) \(error)")
        }
    }

    private func inspect(_ file: String, with inspector: Inspector) -> Inspection {
        do {
            return inspector.inspect(try Self.contents(of: file), file: file)
        } catch {
            return Inspection(file: file, error: "\(error)")
        }
    }

    /// Reads a little more than any receipt may have, so that a larger file is recognised.
    private static func contents(of file: String) throws(UnusableFile) -> Data {
        let descriptor = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(file) }
        defer { close(descriptor) }
        var contents: [UInt8] = []
        while contents.count <= Inspector.sizeLimit {
            var count = -1
            contents += [UInt8](unsafeUninitializedCapacity: 1 << 20) { bytes, used in
                repeat { count = read(descriptor, bytes.baseAddress, bytes.count) } while count < 0 && errno == EINTR
                used = max(0, count)
            }
            guard count >= 0 else { throw unreadable(file) }
            guard count > 0 else { break }
        }
        return Data(contents)
    }

    private static func unreadable(_ file: String) -> UnusableFile {
        UnusableFile(description: "\(file) can't be read: \(String(cString: strerror(errno)))")
    }
}

/// A file of the command line that can't be used.
struct UnusableFile: ForeseenError {
    let description: String
    let exitCode = ExitCode.dataError

    init(description: String) {
        self.description = description
    }
}
