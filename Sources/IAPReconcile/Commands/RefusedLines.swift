import Importing
import Job
import Reconciliation
import Reporting

/// The account of lines that were not taken: in a CSV file if one is named, otherwise the first of them in the log.
struct RefusedLines {
    private let file: ResultFile?
    private let log: @Sendable (LogEntry) -> Void
    private var count = 0
    private var isBegun = false
    /// How many lines the log names if there is no file; the others are only counted.
    static let named = 20

    /// Opens the file and leaves its content until the first line is refused, or the end; then it is written anew. An
    /// import that is started again lists every refused line again.
    ///
    /// - Parameter inputs: the files that are read, which it must not be one of; `-` is standard input.
    init(
        file: String?, inputs: [String], log: @escaping @Sendable (LogEntry) -> Void
    ) throws(UnwritableFile) {
        self.log = log
        self.file =
            if let file { try ResultFile(file, besides: inputs) } else { nil }
    }

    mutating func take(_ lines: [RefusedLine]) throws(UnwritableFile) {
        defer { count += lines.count }
        guard file != nil else { return name(lines) }
        try write(lines.map { CSV.line([String($0.line), $0.reason.rawValue, $0.id ?? "", $0.text]) }.joined())
    }

    private mutating func write(_ text: String) throws(UnwritableFile) {
        guard let file else { return }
        if !isBegun { file.empty() }
        let head = isBegun ? "" : CSV.line(["line", "reason", "id", "what"])
        isBegun = true
        try file.write(head + text)
    }

    /// Says how many lines were not named, or that the file's account is complete.
    mutating func finish() throws(UnwritableFile) {
        if !isBegun { try write("") }
        guard file == nil, count > Self.named else { return }
        let unnamed = (count - Self.named).counted("more line was refused", "more lines were refused")
        log(LogEntry(.warning, "\(unnamed); --refused FILE writes all"))
    }

    private func name(_ lines: [RefusedLine]) {
        for line in lines.prefix(max(0, Self.named - count)) {
            var fields = ["line": String(line.line), "reason": line.reason.rawValue]
            fields["id"] = line.id
            log(LogEntry(.warning, "refused: \(line.text)", fields: fields))
        }
    }
}
