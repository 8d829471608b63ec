import Foundation

/// Measures the job against limits measured in the same run, prints a table of the ratios and writes it as JSON.
@main
enum Benchmarks {
    static let usage = """
        usage: Benchmarks --cluster FOLDER --programs FOLDER --scratch FOLDER [NAME …]
        Wants a private PostgreSQL cluster, by the folder of its socket; `make bench` starts one.
        NAME is one of \(Benchmark.allCases.map(\.rawValue).joined(separator: ", "))

        """

    static func main() async {
        guard let (bench, names) = parse(Array(CommandLine.arguments.dropFirst())) else {
            FileHandle.standardError.write(Data(usage.utf8))
            exit(EX_USAGE)
        }
        do {
            try await measure(names.isEmpty ? Benchmark.allCases : names, bench)
        } catch {
            FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
            exit(EXIT_FAILURE)
        }
    }

    private static func measure(_ benchmarks: [Benchmark], _ bench: Bench) async throws {
        var found: [Measurement] = []
        print(Table.head)
        fflush(nil)
        for benchmark in benchmarks {
            for measurement in try await benchmark.run(bench) {
                found.append(measurement)
                print(Table.row(measurement))
                fflush(nil)
            }
        }
        let file = "\(bench.scratch)/results.json"
        try Results(measurements: found).write(to: file)
        print("\n\(Machine.current.text)\n\(file)")
        if let dearer = found.first(where: { $0.isGuard && $0.isMet == false }) {
            throw BenchmarkError(
                "\(dearer.what) is \(Decimals.text(dearer.ratio)) times what it was: a profile says why, and "
                    + "Sources/Benchmarks/NightCost.swift holds the figure if it has to be so")
        }
    }

    private static func parse(_ arguments: [String]) -> (Bench, names: [Benchmark])? {
        var options: [String: String] = [:]
        var names: [Benchmark] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument.hasPrefix("--") {
                guard let value = rest.popFirst() else { return nil }
                options[argument] = value
            } else {
                guard let name = Benchmark(rawValue: argument) else { return nil }
                names.append(name)
            }
        }
        guard let cluster = options["--cluster"], let programs = options["--programs"],
            let scratch = options["--scratch"], options.count == 3
        else { return nil }
        return (Bench(cluster: cluster, programs: programs, scratch: scratch), names)
    }
}
