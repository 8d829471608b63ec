import Foundation

/// Runs the job under disturbances. Each is played over the same world and compared with an undisturbed run. Prints a
/// line for each scenario; a failure names the seed, scenario and point that repeat it.
@main
enum Chaos {
    static let usage = """
        usage: Chaos --programs FOLDER --scratch FOLDER [--seed N] [--points N] [--scenario NAME [--point N]]
        Wants iap-reconcile in FOLDER, built with -D CHAOS; `make chaos` builds and runs both.

        """

    static func main() async {
        // A job that was killed does not read what it was sent.
        signal(SIGPIPE, SIG_IGN)
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            FileHandle.standardError.write(Data(usage.utf8))
            exit(EX_USAGE)
        }
        do {
            exit(try await perform(options) ? EXIT_SUCCESS : EXIT_FAILURE)
        } catch {
            FileHandle.standardError.write(Data("Chaos: \(error)\n".utf8))
            exit(EX_SOFTWARE)
        }
    }

    /// Returns whether nothing broke.
    private static func perform(_ options: Options) async throws -> Bool {
        try await withTheatre(options) { theatre in
            let all = Repertoire.scenarios(theatre, points: options.points)
            let chosen = all.filter { options.scenario == nil || options.scenario == $0.name }
            guard !chosen.isEmpty else {
                throw Broken("no scenario of that name; there are \(all.map(\.name).joined(separator: ", "))")
            }
            say("seed \(options.seed): \(theatre.worldText)")
            var broken = 0
            for scenario in chosen {
                broken += try await Performance(theatre: theatre, scenario: scenario, options: options).perform()
            }
            say(broken == 0 ? "all \(chosen.count) scenarios held" : "\(broken) of \(chosen.count) scenarios broke")
            return broken == 0
        }
    }
}

/// Writes a line of the table at once.
func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
}

/// The options of the command line.
struct Options: Sendable {
    let programs: String
    let scratch: String
    let seed: UInt64
    let points: Int
    let scenario: String?
    let point: Int?

    init?(_ arguments: [String]) {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let name = rest.popFirst() {
            guard Self.names.contains(name), let value = rest.popFirst() else { return nil }
            values[name] = value
        }
        guard let programs = values["--programs"], let scratch = values["--scratch"],
            let seed = UInt64(values["--seed"] ?? "1"), let points = Int(values["--points"] ?? "20"), points > 0
        else { return nil }
        self.programs = programs
        self.scratch = scratch
        self.seed = seed
        self.points = points
        scenario = values["--scenario"]
        point = values["--point"].flatMap { Int($0) }
        if values["--point"] != nil, point == nil { return nil }
    }

    private static let names: Set<String> = [
        "--programs", "--scratch", "--seed", "--points", "--scenario", "--point",
    ]
}
