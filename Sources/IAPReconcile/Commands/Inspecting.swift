import Commands
import Foundation
import Reconciliation
import Reporting

/// The command `inspect`, which needs no configuration: it looks into files and prints a line of JSON for each.
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

    /// A little more than any receipt may have is read, so that a larger file is seen to be one.
    private static func contents(of file: String) throws(UnusableFile) -> Data {
        do {
            let handle = file == "-" ? .standardInput : try FileHandle(forReadingFrom: URL(filePath: file))
            var contents = Data()
            while contents.count <= Inspector.sizeLimit, let more = try handle.read(upToCount: 1 << 20), !more.isEmpty {
                contents.append(more)
            }
            return contents
        } catch {
            throw UnusableFile(description: "\(file) can't be read: \(error.localizedDescription)")
        }
    }
}

/// A file that the command line names and that is of no use.
struct UnusableFile: ForeseenError {
    let description: String
    let exitCode = ExitCode.dataError

    init(description: String) {
        self.description = description
    }
}
