import CLibFuzzer
import Foundation

/// What libFuzzer feeds; chosen once, for its callback can carry nothing along.
private let decode = FuzzedDecoder.chosen.decode()

/// Feeds a decoder with what libFuzzer makes up: `Fuzz NAME [options of libFuzzer] [folders or files]`. `Fuzz NAME
/// --seeds FOLDER` writes what it begins with, and `Fuzz --names` says which decoders there are.
@main
enum Fuzz {
    static func main() throws {
        let arguments = CommandLine.arguments
        if arguments.dropFirst().first == "--names" {
            for decoder in FuzzedDecoder.allCases { print(decoder.rawValue) }
        } else if arguments.count == 4, arguments[2] == "--seeds" {
            try writeSeeds(to: URL(filePath: arguments[3], directoryHint: .isDirectory))
        } else {
            // Made before libFuzzer counts what is reached and how long it takes.
            decode([])
            exit(run([arguments[0]] + arguments.dropFirst(2)))
        }
    }

    private static func writeSeeds(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (number, seed) in FuzzedDecoder.chosen.seeds().enumerated() {
            try Data(seed).write(to: folder.appending(path: "seed-\(number)"))
        }
    }

    private static func run(_ arguments: [String]) -> Int32 {
        var count = Int32(arguments.count)
        // libFuzzer keeps them for as long as the process lives.
        let texts = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count + 1)
        _ = texts.initialize(from: arguments.map { strdup($0) } + [nil])
        var first = texts.baseAddress
        return LLVMFuzzerRunDriver(&count, &first) { bytes, size in
            decode(Array(UnsafeBufferPointer(start: bytes, count: size)))
            return 0
        }
    }
}

extension FuzzedDecoder {
    /// The one that the command line names.
    static var chosen: FuzzedDecoder {
        guard let decoder = CommandLine.arguments.dropFirst().first.flatMap(FuzzedDecoder.init) else {
            FileHandle.standardError.write(
                Data("usage: Fuzz NAME [--seeds FOLDER]; names: \(allCases.map(\.rawValue))\n".utf8))
            exit(64)
        }
        return decoder
    }
}
