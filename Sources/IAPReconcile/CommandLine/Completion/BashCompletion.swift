/// The script that bash sources.
enum BashCompletion {
    static let script = """
        # Completion of iap-reconcile for bash, as “iap-reconcile completion bash” prints it.
        _iap_reconcile() {
            local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
            local command="" operands=0 own="" i
            COMPREPLY=()
            # Of --option=value bash makes three words.
            if [[ $current == "=" ]]; then
                current=""
            elif [[ $before == "=" ]]; then
                before=${COMP_WORDS[COMP_CWORD - 2]}
            fi
            for ((i = 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                \(CommandTable.takingValues.joined(separator: " | ")))
                    ((i += 1))
                    [[ ${COMP_WORDS[i]} == "=" ]] && ((i += 1))
                    ;;
                -*) ;;
                *) if [[ -z $command ]]; then command=${COMP_WORDS[i]}; else ((operands += 1)); fi ;;
                esac
            done
            case $command:$before in
        \(values.joined(separator: "\n"))
            esac
            if [[ $current == -* ]]; then
                case $command in
        \(options.joined(separator: "\n"))
                esac
                _iap_reconcile_offer -W "$own \(switches(CommandTable.everywhere))"
                return
            fi
            case $command:$operands in
            :0) _iap_reconcile_offer -W "\(CommandTable.commands.map(\.name).joined(separator: " "))" ;;
        \(operands.joined(separator: "\n"))
            esac
        }

        _iap_reconcile_offer() {
            [[ $1 == -W ]] || compopt -o filenames
            mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
        }

        complete -F _iap_reconcile iap-reconcile

        """

    /// The values of options that take one; texts can't be completed.
    private static var values: [String] {
        let everywhere = CommandTable.everywhere.compactMap { value($0, of: "*") }
        return everywhere
            + CommandTable.commands.flatMap { command in command.options.compactMap { value($0, of: command.name) } }
    }

    private static func value(_ option: OptionForm, of command: String) -> String? {
        option.value.map { value in
            "    \(command):--\(option.name)) \(offer(value.kind).map { "\($0); " } ?? "")return ;;"
        }
    }

    private static var options: [String] {
        CommandTable.commands.filter { !$0.options.isEmpty }
            .map { "        \($0.name)) own=\"\(switches($0.options))\" ;;" }
    }

    private static var operands: [String] {
        CommandTable.commands.flatMap { command in
            command.operands.enumerated().compactMap { index, operand in
                let isLast = index == command.operands.count - 1
                let place = command.takesMore && isLast ? "*" : "\(index)"
                return offer(operand.kind).map { "    \(command.name):\(place)) \($0) ;;" }
            }
        }
    }

    private static func switches(_ options: [OptionForm]) -> String {
        options.map { "--\($0.name)" }.joined(separator: " ")
    }

    private static func offer(_ kind: Argument.Kind) -> String? {
        switch kind {
        case .text: nil
        case .file: "_iap_reconcile_offer -f"
        case .folder: "_iap_reconcile_offer -d"
        case .words(let words): "_iap_reconcile_offer -W \"\(words.joined(separator: " "))\""
        }
    }
}
