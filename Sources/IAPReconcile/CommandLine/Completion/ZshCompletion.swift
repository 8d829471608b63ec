/// The script that zsh loads from a folder of its `fpath`, or sources.
enum ZshCompletion {
    static let script = """
        #compdef iap-reconcile
        # Completion of iap-reconcile for zsh, as “iap-reconcile completion zsh” prints it.
        _iap-reconcile() {
            local curcontext=$curcontext state line
            typeset -A opt_args
            local -a commands everywhere
            commands=(
        \(commands.joined(separator: "\n"))
            )
            everywhere=(
        \(CommandTable.everywhere.map { "        \(option($0))" }.joined(separator: "\n"))
            )
            _arguments -C $everywhere '1:command:->command' '*::argument:->argument'
            case $state in
            command) _describe command commands ;;
            argument)
                case $line[1] in
        \(CommandTable.commands.map(arguments).joined(separator: "\n"))
                esac
                ;;
            esac
        }

        if [[ $funcstack[1] == _iap-reconcile ]]; then
            _iap-reconcile "$@"
        else
            compdef _iap-reconcile iap-reconcile
        fi

        """

    private static var commands: [String] {
        CommandTable.commands.map { "        " + quoted("\($0.name):\(CommandTable.summary($0.help))") }
    }

    private static func arguments(_ command: CommandForm) -> String {
        let operands = command.operands.enumerated().map { index, operand in
            let isLast = index == command.operands.count - 1
            let place = command.takesMore && isLast ? "*" : "\(index + 1)"
            // A message about a text would keep zsh from completing options in its place.
            let what = operand.kind == .text ? "_guard \"^-*\" \(operand.name)" : action(operand.kind)
            return quoted("\(place):\(operand.name):\(what)")
        }
        let lines = (command.options.map(option) + operands).map { " \\\n            \($0)" }
        return "        \(command.name)) _arguments $everywhere\(lines.joined()) ;;"
    }

    /// An option in the notation of `_arguments`.
    private static func option(_ option: OptionForm) -> String {
        let summary = CommandTable.summary(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
        let value = option.value.map { "=[\(summary)]:\($0.name):\(action($0.kind))" } ?? "[\(summary)]"
        return quoted("--\(option.name)\(value)")
    }

    private static func action(_ kind: Argument.Kind) -> String {
        switch kind {
        case .text: ""
        case .file: "_files"
        case .folder: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
