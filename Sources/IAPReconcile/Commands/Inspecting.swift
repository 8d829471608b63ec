import Commands
import Files
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
        guard descriptor >= 0 else { throw unreadable(file, SystemFailure()) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            return try handle.contents(upTo: Inspector.sizeLimit + 1)
        } catch {
            throw unreadable(file, error)
        }
    }

    private static func unreadable(_ file: String, _ why: SystemFailure) -> UnusableFile {
        UnusableFile(description: "\(file) can't be read: \(why)")
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
