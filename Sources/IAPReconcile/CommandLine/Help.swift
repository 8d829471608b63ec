import Foundation

/// The texts of `--help` and `--version`.
enum Help {
    static let version = "0.1.0"

    static let text = """
        Usage: iap-reconcile COMMAND [options]

        Finds App Store purchases that were paid and never delivered.

        Commands:
        \(CommandTable.commands.map(entry).joined(separator: "\n"))

        \(everywhere)

        Exit codes: 0 everything due was tried; 64 usage; 65 what was asked for is not there,
        can't be read or is not valid, or lines of a file were refused;
        69 database or Apple unavailable; 70 internal error, or tables that don't hold together;
        75 ended early, the rest stays in the inbox; 77 permission; 78 configuration.
        See man iap-reconcile.

        """

    /// What COMMAND `--help` prints.
    static func text(of command: CommandForm) -> String {
        """
        Usage: iap-reconcile \(usage(command)) [options]

        \(entry(command))

        \(everywhere)

        See iap-reconcile --help for all commands, and man iap-reconcile.

        """
    }

    private static let everywhere = """
        Options of every command:
        \(CommandTable.everywhere.map { line(label($0), indentedBy: 2, $0.help) }.joined(separator: "\n"))
        """

    /// The column in which the descriptions begin.
    private static let column = 25

    private static func usage(_ command: CommandForm) -> String {
        let beside = command.options.filter { $0.place == .besideTheCommand }.map(\.label)
        let words = [command.name] + command.operands.map(\.name) + beside
        return words.joined(separator: " ") + (command.takesMore ? "..." : "")
    }

    private static func entry(_ command: CommandForm) -> String {
        let head = line(usage(command), indentedBy: 2, command.help)
        let options = command.options.filter { $0.place == .onItsOwnLine }
        return ([head] + options.map { line($0.label, indentedBy: 6, $0.help) }).joined(separator: "\n")
    }

    private static func label(_ option: OptionForm) -> String {
        option.name == CommandTable.help ? "\(option.label), -h" : option.label
    }

    private static func line(_ label: String, indentedBy indent: Int, _ help: String) -> String {
        let head = (String(repeating: " ", count: indent) + label)
            .padding(toLength: column, withPad: " ", startingAt: 0)
        return head + help.replacing("\n", with: "\n" + String(repeating: " ", count: column))
    }
}
