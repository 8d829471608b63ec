/// How a command is written: its operands and options, what it is for, and how its arguments are read.
struct CommandForm: Sendable {
    let name: String
    let operands: [Argument]
    /// Whether the last operand may be given several times.
    let takesMore: Bool
    /// For the help, with the same line breaks.
    let help: String
    let options: [OptionForm]
    let understand: @Sendable ([String], OptionValues) throws(UsageError) -> Command

    init(
        _ name: String, _ operands: Argument..., takesMore: Bool = false, help: String, options: [OptionForm] = [],
        understand: @escaping @Sendable ([String], OptionValues) throws(UsageError) -> Command
    ) {
        self.name = name
        self.operands = operands
        self.takesMore = takesMore
        self.help = help
        self.options = options
        self.understand = understand
    }
}

/// How an option is written, and what it does.
struct OptionForm: Sendable {
    /// The name without its hyphens.
    let name: String
    /// `nil` for a switch.
    let value: Argument?
    let help: String
    let place: Place
    /// The question in the message that says that the option is missing; `nil` if it is optional.
    let question: String?

    /// Where the help shows the option.
    enum Place: Sendable {
        case onItsOwnLine
        /// Beside the command, which does nothing without it.
        case besideTheCommand
        /// Within the text of another option.
        case withAnother
    }

    init(
        _ name: String, _ value: Argument? = nil, help: String, place: Place = .onItsOwnLine, question: String? = nil
    ) {
        self.name = name
        self.value = value
        self.help = help
        self.place = place
        self.question = question
    }

    /// The option in the help, such as `--limit N`.
    var label: String { "--\(name)" + (value.map { " \($0.name)" } ?? "") }
}

/// An operand, or an option's value.
struct Argument: Sendable {
    /// The name in the help, such as `FILE`.
    let name: String
    let kind: Kind

    enum Kind: Equatable, Sendable {
        case text
        case file
        case folder
        case words([String])
    }

    static func text(_ name: String) -> Argument { Argument(name: name, kind: .text) }
    static func file(_ name: String) -> Argument { Argument(name: name, kind: .file) }
    static func folder(_ name: String) -> Argument { Argument(name: name, kind: .folder) }

    /// One of a type's words.
    static func word<Word: RawRepresentable<String> & CaseIterable>(_ name: String, of _: Word.Type) -> Argument {
        Argument(name: name, kind: .words(Word.allCases.map(\.rawValue)))
    }
}
