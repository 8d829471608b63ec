import Files
import Foundation
import Reconciliation

/// Converts the first sheet of an .xlsx file to CSV, a row a line, with Debian's xlsx2csv. It runs as a process of its
/// own, with limits of time, memory and output, so that a file made to exhaust them ends in a refusal.
package struct SpreadsheetConversion {
    /// Whether the programs that it runs are installed.
    package static var isInstalled: Bool { found("xlsx2csv") != nil && found("python3") != nil }

    /// The most bytes of xlsx2csv's output.
    private static let mostOutput = 256 << 20
    private static let mostMemory = 2 << 30
    private static let timeLimit = 60
    private static let longestCell = 1 << 20

    let file: DecisionFile

    /// Returns the CSV, at its beginning. Its file has no name by which others could put something in its place, and it
    /// is gone with a night that is killed.
    ///
    /// - Throws: `DecisionFileError`; `CancellationError` if it was stopped.
    func run(_ isStopped: () -> Bool) async throws -> FileHandle {
        guard let converter = Self.found("xlsx2csv"), let python = Self.found("python3") else {
            throw DecisionFileError.converterMissing(file: file.path)
        }
        let errors = try TemporaryFile.unnamed(forReading: file.path)
        let output = try TemporaryFile.unnamed(forReading: file.path)
        do {
            let process = Process()
            process.executableURL = URL(filePath: python)
            process.arguments = ["-I", "-B", "-X", "utf8", "-c", Self.program, converter, "/dev/stdin"]
            process.environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
            process.standardInput = file.handle
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            guard try await Self.ends(process, isStopped) else {
                throw unreadable("it took xlsx2csv more than \(Self.timeLimit) s, and was given up")
            }
            guard process.terminationReason == .exit, process.terminationStatus == 0 else {
                throw unreadable("xlsx2csv failed: \(Self.lastLine(of: errors))")
            }
            try output.seek(toOffset: 0)
            return output
        } catch {
            throw error as? DecisionFileError ?? (error is CancellationError ? error : unreadable("\(error)"))
        }
    }

    private func unreadable(_ why: String) -> DecisionFileError { .unreadable(file: file.path, why: why) }

    /// Returns whether it ended in time; otherwise it is killed, with the processes that it started.
    private static func ends(_ process: Process, _ isStopped: () -> Bool) async throws(CancellationError) -> Bool {
        let deadline = ContinuousClock.now + .seconds(timeLimit)
        while process.isRunning {
            let isStopped = isStopped() || Task.isCancelled
            guard ContinuousClock.now < deadline, !isStopped else {
                // Foundation starts each process in a group of its own.
                kill(-process.processIdentifier, SIGKILL)
                process.waitUntilExit()
                if isStopped { throw CancellationError() }
                return false
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return true
    }

    static func lastLine(of errors: FileHandle) -> String {
        try? errors.seek(toOffset: 0)
        let end = ((try? errors.readToEnd()) ?? Data()).suffix(1_000)
        let line = String(decoding: end, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
        guard line.isEmpty else { return String(line.prefix(300)) }
        // Where its output finds no room, what it says of that finds none either.
        return hasRoom(errors)
            ? "it said nothing"
            : "no space is left in \(FileManager.default.temporaryDirectory.path(percentEncoded: false))"
    }

    private static func hasRoom(_ file: FileHandle) -> Bool {
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        return bytes.withUnsafeBytes { pwrite(file.fileDescriptor, $0.baseAddress, $0.count, 0) } == bytes.count
    }

    /// Looks in Debian's own places first: a login's PATH may begin with another Python.
    private static func found(_ program: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return (["/usr/bin"] + path.split(separator: ":").map(String.init))
            .map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// xlsx2csv gives the last result of a formula; this gives `=` instead, which shows that it is one. Of a long text
    /// it gives only the end; this gives all of it. A line break within a cell becomes a space, so that line numbers
    /// are row numbers.
    private static let program = """
        import importlib.machinery, importlib.util, resource, sys
        for limit, most in (
            (resource.RLIMIT_AS, \(mostMemory)), (resource.RLIMIT_CPU, \(timeLimit)),
            (resource.RLIMIT_FSIZE, \(mostOutput)),
        ):
            resource.setrlimit(limit, (most, most))
        loader = importlib.machinery.SourceFileLoader("xlsx2csv", sys.argv[1])
        xlsx2csv = importlib.util.module_from_spec(importlib.util.spec_from_loader("xlsx2csv", loader))
        loader.exec_module(xlsx2csv)
        begin, end = xlsx2csv.Sheet.handleStartElement, xlsx2csv.Sheet.handleEndElement
        characters = xlsx2csv.Sheet.handleCharData

        def begins(sheet, name, attributes):
            begin(sheet, name, attributes)
            kind = name.rpartition(":")[2]
            if kind == "c":
                sheet.is_formula = False
            elif kind == "f" and sheet.in_cell:
                sheet.is_formula = True

        def hears(sheet, data):
            characters(sheet, data)
            if sheet.in_cell_value and sheet.colType in ("str", "inlineStr"):
                sheet.data = sheet.collected_string
            if sheet.in_cell_value and len(sheet.collected_string) > \(longestCell):
                sys.exit("a cell holds more than \(longestCell >> 20) MiB")

        def ends(sheet, name):
            if sheet.in_cell and name.rpartition(":")[2] == "c":
                sheet.data = "=" if sheet.is_formula else " ".join(sheet.data.splitlines())
            end(sheet, name)

        xlsx2csv.Sheet.handleStartElement, xlsx2csv.Sheet.handleEndElement = begins, ends
        xlsx2csv.Sheet.handleCharData = hears
        try:
            if xlsx2csv.Xlsx2csv(sys.argv[2]).convert(sys.stdout, 1):
                sys.exit("it has no first sheet")
        except MemoryError:
            sys.exit("it takes more than \(mostMemory >> 30) GiB of memory")
        except Exception as error:
            sys.exit(f"{type(error).__name__}: {error}")
        """
}

extension TemporaryFile {
    /// For the output of a process that reads this file.
    fileprivate static func unnamed(forReading file: String) throws(DecisionFileError) -> FileHandle {
        do {
            let made = try TemporaryFile()
            made.remove()
            return made.handle
        } catch {
            throw .unreadable(file: file, why: "no temporary file can be made: \(error)")
        }
    }
}
