/// The script that fish loads.
enum FishCompletion {
    static let script = """
        # Completion of iap-reconcile for fish, as “iap-reconcile completion fish” prints it.

        # Whether this is the command, with so many operands behind it where that is asked.
        function __iap_reconcile_at
            set -l words (commandline -opc)
            set -l operands
            set -e words[1]
            while set -q words[1]
                switch $words[1]
                    case \(CommandTable.takingValues.joined(separator: " "))
                        set -q words[2]; and set -e words[1]
                    case '-*'
                    case '*'
                        set -a operands $words[1]
                end
                set -e words[1]
            end
            test "$operands[1]" = "$argv[1]"; or return 1
            set -q argv[2]; or return 0
            test (count $operands) -eq (math $argv[2] + 1)
        end

        complete -c iap-reconcile -f
        \((everywhere + CommandTable.commands.map(command) + CommandTable.commands.flatMap(arguments))
            .joined(separator: "\n"))

        """

    private static var everywhere: [String] {
        CommandTable.everywhere.map { option($0, short: $0.name == CommandTable.help ? " -s h" : "") }
    }

    private static func command(_ command: CommandForm) -> String {
        let summary = quoted(CommandTable.summary(command.help))
        return "complete -c iap-reconcile -n '__iap_reconcile_at \"\"' -a \(command.name) -d \(summary)"
    }

    private static func arguments(_ command: CommandForm) -> [String] {
        command.options.map { option($0, of: command.name) }
            + command.operands.enumerated().filter { $0.element.kind != .text }.map { index, operand in
                let isLast = index == command.operands.count - 1
                let place = command.takesMore && isLast ? command.name : "\(command.name) \(index)"
                return "complete -c iap-reconcile -n '__iap_reconcile_at \(place)'\(offer(operand.kind))"
            }
    }

    private static func option(_ option: OptionForm, of command: String? = nil, short: String = "") -> String {
        let condition = command.map { " -n '__iap_reconcile_at \($0)'" } ?? ""
        let value = option.value.map { ($0.kind == .file ? " -r" : " -x") + offer($0.kind) } ?? ""
        let summary = quoted(CommandTable.summary(option.help))
        return "complete -c iap-reconcile\(condition)\(short) -l \(option.name)\(value) -d \(summary)"
    }

    private static func offer(_ kind: Argument.Kind) -> String {
        switch kind {
        case .text: ""
        case .file: " -F"
        case .folder: " -a '(__fish_complete_directories)'"
        case .words(let words): " -a '\(words.joined(separator: " "))'"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }
}
