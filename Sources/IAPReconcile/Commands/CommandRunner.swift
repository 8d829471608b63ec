import Commands
import Foundation
import Job
import Reconciliation

/// A command that needs the configuration.
struct CommandRunner {
    let invocation: Invocation
    let configuration: Configuration
    let console: Console

    init(_ invocation: Invocation) throws(ConfigurationError) {
        self.invocation = invocation
        configuration = try Configuration.read(invocation.configuration, secrets: Self.secrets(for: invocation.command))
        console = Console(invocation)
        if let serviceFile = configuration.serviceFile { LibpqEnvironment.take(serviceFile: serviceFile) }
    }

    private static func secrets(for command: Command) -> Secrets {
        switch command {
        case .run, .doctor, .notices, .adopt: .ofThisProcess
        case .suggestProducts, .statement, .check, .resolve, .resolveFile, .take, .note, .history, .diff, .verify,
            .purge,
            .erase, .report, .migrate, .importFile, .sales, .inspect, .setup, .completion, .help, .version:
            .leftAlone
        }
    }

    static func perform(_ invocation: Invocation) async throws -> ExitCode {
        let runner: CommandRunner
        do {
            runner = try CommandRunner(invocation)
        } catch {
            await tell(ofRefused: error, invocation)
            throw error
        }
        return try await runner.perform()
    }

    private func perform() async throws -> ExitCode {
        do {
            return try await carryOut()
        } catch JobError.noDatabase(let text) {
            throw ConfigurationError(file: invocation.configuration, line: nil, text: text)
        }
    }

    private func carryOut() async throws -> ExitCode {
        switch invocation.command {
        case .run(let options, let directory): try await run(options, reportDirectory: directory)
        case .report(let run, let directory): try await report(run: run, reportDirectory: directory)
        case .migrate(let isPrintOnly, let isRehearsal):
            try await migrate(isPrintOnly: isPrintOnly, isRehearsal: isRehearsal)
        case .importFile(let options, let refused): try await importFile(options, refusedFile: refused)
        case .notices(let files): try await takeNotices(files)
        case .sales(let files, let refused): try await readSales(files, refusedFile: refused)
        case .doctor(let isNotifying, let asJSON): await doctor(isNotifying: isNotifying, asJSON: asJSON)
        case .statement(let options): try await statement(options)
        case .suggestProducts: try await suggestProducts()
        case .check(let id, let asJSON): try await check(id, asJSON: asJSON)
        case .resolve(let resolution): try await resolve(resolution)
        case .resolveFile(let options): try await resolveFile(options)
        case .adopt(let adoption): try await adopt(adoption)
        case .take(let subject, let who, let isFreeing): try await take(subject, by: who, isFreeing: isFreeing)
        case .note(let subject, let text, let who): try await comment(on: subject, text, by: who)
        case .history(let days, let asJSON): try await history(days: days, asJSON: asJSON)
        case .diff(let from, let to, let asJSON): try await diff(from: from, to: to, asJSON: asJSON)
        case .verify(let asJSON, let end): try await verify(asJSON: asJSON, since: end)
        case .purge(let isDryRun): try await purge(isDryRun: isDryRun)
        case .erase(let erasure): try await erase(erasure)
        case .setup, .inspect, .completion, .help, .version: .done
        }
    }
}
