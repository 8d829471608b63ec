import Foundation
import Synchronization

/// A program that a test starts, and that never outlives the test.
public final class ChildProcess: Sendable {
    public let processIdentifier: Int32
    private let input: PipeWriter
    private let output: PipeReader
    private let errors: PipeReader
    private let exit = Promise<Int32>()

    /// What a program that has ended left behind.
    public struct Ended: Sendable {
        /// The exit code, or the number of the signal that ended it plus 128.
        public let status: Int32
        public let output: String
        public let errors: String
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    private init(
        _ program: String, _ arguments: [String], environment: [String: String]?, directory: String?, input: String?,
        isInputEnding: Bool
    ) throws {
        let (outputPipe, errorPipe, inputPipe) = (try PipeEnds(), try PipeEnds(), try PipeEnds())
        processIdentifier = try Spawn.start(
            program, arguments, environment: environment ?? ProcessInfo.processInfo.environment,
            directory: directory, descriptors: [inputPipe.reading, outputPipe.writing, errorPipe.writing])
        for descriptor in [inputPipe.reading, outputPipe.writing, errorPipe.writing] { close(descriptor) }
        output = PipeReader(outputPipe.reading)
        errors = PipeReader(errorPipe.reading)
        self.input = PipeWriter(inputPipe.writing)
        DispatchQueue(label: "ChildProcess.wait").async { [processIdentifier, exit] in
            exit.keep(Spawn.waitForEnd(of: processIdentifier))
        }
        self.input.write(input ?? "")
        if isInputEnding { self.input.close() }
    }

    public var isRunning: Bool { exit.value == nil }
    /// What it has written so far.
    public var outputSoFar: String { output.text }
    public var errorsSoFar: String { errors.text }

    /// Gives it the rest of its input, where that was left open.
    public func endInput(_ rest: String) {
        input.write(rest)
        input.close()
    }

    public func send(signal: Int32) {
        if isRunning { kill(processIdentifier, signal) }
    }

    /// Waits until the program has ended and all it wrote has been read.
    public func waitUntilEnded() async -> Ended {
        let status = await exit.wait()
        return Ended(status: status, output: await output.all(), errors: await errors.all())
    }

    /// Waits for a piece of text on standard output or standard error.
    public func waitFor(_ text: String, seconds: Double = 30) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while !output.text.contains(text), !errors.text.contains(text) {
            guard ContinuousClock.now < end, isRunning else {
                throw Failure(description: "\(text) was never written, only: \(output.text)\(errors.text)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}

extension ChildProcess {
    /// Runs a program to its end.
    public static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: String? = nil
    ) async throws -> Ended {
        try await with(program, arguments, environment: environment, directory: directory, input: input) {
            await $0.waitUntilEnded()
        }
    }

    /// Runs a program that must succeed, and returns what it wrote.
    @discardableResult
    public static func runSuccessfully(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: String? = nil
    ) async throws -> String {
        let ended = try await run(
            program, arguments, environment: environment, directory: directory, input: input)
        guard ended.status == 0 else {
            throw Failure(
                description: "\(program) \(arguments.joined(separator: " ")) ended with \(ended.status): "
                    + ended.output + ended.errors)
        }
        return ended.output
    }

    /// Starts a program, and kills it when the body returns or throws, should it still run.
    ///
    /// - Parameter isInputEnding: whether the program meets the end of its input, or waits for more until `endInput`.
    public static func with<Value>(
        _ program: String, _ arguments: [String] = [], environment: [String: String]? = nil,
        directory: String? = nil, input: String? = nil, isInputEnding: Bool = true,
        _ body: (ChildProcess) async throws -> Value
    ) async throws -> Value {
        let child = try ChildProcess(
            program, arguments, environment: environment, directory: directory, input: input,
            isInputEnding: isInputEnding)
        return try await withTaskCancellationHandler {
            do {
                let value = try await body(child)
                await child.end()
                return value
            } catch {
                await child.end()
                throw error
            }
        } onCancel: {
            child.send(signal: SIGKILL)
        }
    }

    private func end() async {
        send(signal: SIGKILL)
        _ = await exit.wait()
    }
}
