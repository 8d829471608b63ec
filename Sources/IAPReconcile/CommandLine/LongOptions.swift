@preconcurrency import CGetopt
@preconcurrency import Glibc
import Synchronization

/// The content of a command line: its options, and its operands in order.
struct ParsedArguments {
    var options: [String: String] = [:]
    var operands: [String] = []
}

/// Parses with `getopt_long`, which keeps its state in global variables: one command line at a time.
enum LongOptions {
    private static let turn = Mutex(())
    /// Above every character, so that it can't be taken for a short option.
    private static let firstValue: Int32 = 1000
    /// What `getopt_long` finds where an operand stands.
    private static let operand: Int32 = 1

    /// Parses the arguments after the program's name. A switch's value is empty; if an option is given twice, the last
    /// one counts.
    static func parse(_ arguments: [String], knowing options: [OptionForm]) throws(UsageError) -> ParsedArguments {
        let result = turn.withLock { _ in
            withCStrings(["iap-reconcile"] + arguments) { argv in
                withCStrings(options.map(\.name)) { names in
                    Result { () throws(UsageError) in try parse(argv, names: names, options) }
                }
            }
        }
        return try result.get()
    }

    private static func parse(
        _ argv: [UnsafeMutablePointer<CChar>?], names: [UnsafeMutablePointer<CChar>?], _ options: [OptionForm]
    ) throws(UsageError) -> ParsedArguments {
        var argv = argv
        let count = argv.count - 1
        let table = zip(names, options).enumerated().map { index, known in
            option(
                name: known.0, has_arg: known.1.value == nil ? 0 : 1, flag: nil, val: firstValue + Int32(index))
        }
        var parsed = ParsedArguments()
        // Zero makes glibc start over, and leaves the messages to us.
        optind = 0
        opterr = 0
        while true {
            // By the hyphen operands are found in their turn: otherwise, where the environment has POSIXLY_CORRECT, the
            // first of them, the command, would end the options.
            let found = getopt_long(Int32(count), &argv, "-:h", table + [option()], nil)
            if found == -1 { break }
            switch found {
            case operand: parsed.operands.append(optarg.map { String(cString: $0) } ?? "")
            case Int32(UInt8(ascii: "h")): parsed.options[CommandTable.help] = ""
            case firstValue...:
                parsed.options[options[Int(found - firstValue)].name] = optarg.map { String(cString: $0) } ?? ""
            default: throw complaint(about: found, argv: argv, options)
            }
        }
        parsed.operands += argv[Int(optind)..<count].compactMap { $0.map { String(cString: $0) } }
        return parsed
    }

    /// What is wrong with the option that `getopt_long` stopped at.
    private static func complaint(
        about found: Int32, argv: [UnsafeMutablePointer<CChar>?], _ options: [OptionForm]
    ) -> UsageError {
        if optopt >= firstValue {
            let name = options[Int(optopt - firstValue)].name
            return UsageError(
                found == Int32(UInt8(ascii: ":")) ? "--\(name) needs a value" : "--\(name) takes no value")
        }
        if optopt > 0 {
            return UsageError("unknown option -\(Character(UnicodeScalar(UInt8(truncatingIfNeeded: optopt))))")
        }
        let written = argv[Int(optind) - 1].map { String(cString: $0) } ?? ""
        let name = String(written.prefix { $0 != "=" })
        let candidates = options.map { "--\($0.name)" }.filter { $0.hasPrefix(name) }
        if candidates.count > 1 {
            return UsageError("\(name) may be \(candidates.sorted().joined(separator: " or ")); write it out")
        }
        return UsageError(
            "unknown option \(name)\(NearestName.suggestion(for: name, in: options.map { "--\($0.name)" }))")
    }

    /// Passes the strings as C strings, followed by a null pointer.
    private static func withCStrings<Value>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let copies = strings.map { strdup($0) }
        defer {
            for copy in copies { free(copy) }
        }
        return body(copies + [nil])
    }
}
