import Foundation
import SimulatedWorld

/// `appstore-simulator compare`
enum Compare {
    static let help = """
        Usage: appstore-simulator compare --truth FILE --report DIR|FILE [--server-api]
        Compares the cases of a report with the orders that were truly lost, and ends with 1 when they differ.

          --truth FILE           as `world` wrote it
          --report DIR|FILE      a report's folder, or its report.json
          --server-api           the job had a key for the App Store Server API: what came in no receipt (such as S09)
                                 is expected too

        """

    private static let mostDifferences = 10

    static func run(_ arguments: [String]) throws {
        let options = try Options(arguments, values: ["truth", "report"], switches: ["server-api"])
        let truthFile = try options.required("truth")
        let reportFile = reportFile(try options.required("report"))
        let truth = try Files.decode(truthFile) { try Truth(json: $0) }
        let comparison = try Files.decode(reportFile) {
            try Comparison(truth: truth, report: $0, usesServerAPI: options.has("server-api"))
        }
        for difference in comparison.differences.prefix(mostDifferences) { print(difference) }
        if comparison.differences.count > mostDifferences {
            print("and \(comparison.differences.count - mostDifferences) more")
        }
        print(comparison.summary)
        if !comparison.isEqual { exit(EXIT_FAILURE) }
    }

    private static func reportFile(_ path: String) -> String {
        var isFolder: ObjCBool = false
        let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        return isThere && isFolder.boolValue ? "\(path)/report.json" : path
    }
}
