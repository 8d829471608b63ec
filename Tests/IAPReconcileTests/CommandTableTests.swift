import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// The table of commands and options, beside what goes by it.
@Suite struct CommandTableTests {
    /// Options are parsed before the command is known, so one name takes a value everywhere or nowhere.
    @Test func optionsOfOneNameAreWrittenAlike() {
        let forms = CommandTable.everywhere + CommandTable.commands.flatMap(\.options)
        for option in CommandTable.options {
            let names = forms.filter { $0.name == option.name }.map { $0.value?.name }
            #expect(names.allSatisfy { $0 == names[0] }, "--\(option.name)")
        }
        #expect(Set(CommandTable.commands.map(\.name)).count == CommandTable.commands.count)
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func theParserTakesEachOptionOfACommandAndNoOther(name: String) throws {
        let command = try #require(CommandTable.commands.first { $0.name == name })
        let own = Set((command.options + CommandTable.everywhere).map(\.name))
        for option in CommandTable.options where !["help", "version"].contains(option.name) {
            let written = option.value.map { "--\(option.name)=\(Self.example(of: $0))" } ?? "--\(option.name)"
            let operands = command.operands.map(Self.example)
            let refusal = Self.refusal([name, written] + operands)
            let isStray = refusal?.description == "--\(option.name) is no option of “\(name)”"
            #expect(isStray != own.contains(option.name), "\(name) --\(option.name)")
        }
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func theParserTakesOperandsOnlyWhereTheTableHasThem(name: String) throws {
        let command = try #require(CommandTable.commands.first { $0.name == name })
        let words = Array(repeating: "x", count: command.operands.count + 1)
        let refusal = Self.refusal([name] + words)
        if command.takesMore {
            #expect(refusal == nil)
        } else {
            #expect(refusal != nil)
        }
    }

    @Test func theManPagesSynopsisIsThatOfTheTable() throws {
        let page = try manual
        let written = try #require(page.firstMatch(of: #/\.SH SYNOPSIS\n((?s).*?)\.SH /#)).1
        #expect(String(written) == Synopsis.text)
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func theManPageTellsOfEachCommandWithItsOptions(name: String) throws {
        let command = try #require(CommandTable.commands.first { $0.name == name })
        let all = try #require(try manual.firstMatch(of: #/\.SH COMMANDS\n((?s).*?)\.SH OPTIONS/#)).1
        let names = CommandTable.commands.map(\.name).joined(separator: "|")
        let heads = try Regex("(?m)^\\.TP\\n\\.B[IR]? \"?(\(names))\\b", as: (Substring, Substring).self)
        // Below “import”, the columns of its kinds have such heads, too.
        let matches = all.matches(of: heads).filter { !all[$0.range.lowerBound...].hasPrefix(".TP\n.B products\n") }
        let place = try #require(matches.firstIndex { $0.1 == name }, "\(name) is missing")
        let end = place + 1 < matches.count ? matches[place + 1].range.lowerBound : all.endIndex
        let part = all[matches[place].range.lowerBound..<end].replacing("\\-", with: "-")
        for option in command.options {
            #expect(part.contains("--\(option.name)"), "\(name) --\(option.name)")
        }
    }

    @Test func theManPageTellsOfEachOptionOfEveryCommand() throws {
        let part = try #require(try manual.firstMatch(of: #/\.SH OPTIONS\n((?s).*?)\.SH /#)).1
        for option in CommandTable.everywhere {
            #expect(part.replacing("\\-", with: "-").contains("--\(option.name)"), "--\(option.name)")
        }
    }

    private var manual: String {
        get throws {
            try String(contentsOf: PackageRoot.folder.appending(path: "docs/iap-reconcile.8"), encoding: .utf8)
        }
    }

    private static func refusal(_ arguments: [String]) -> UsageError? {
        do throws(UsageError) {
            _ = try Invocation(arguments: arguments)
            return nil
        } catch {
            return error
        }
    }

    private static func example(of argument: Argument) -> String {
        guard case .words(let words) = argument.kind else { return "1" }
        return words[0]
    }
}

/// The SYNOPSIS of the man page, in the macros of man(7).
private enum Synopsis {
    static let text = (CommandTable.commands.map(lines) + [everywhere]).joined()

    private static func lines(_ command: CommandForm) -> String {
        let options = command.options.map { option in
            let isNeeded = option.question != nil || option.place == .besideTheCommand
            return isNeeded ? needed(option) : optional(option)
        }
        let operands = command.operands.map { ".I \($0.name)\n" }
        let more = command.takesMore ? ".RI [ \(command.operands.last?.name ?? "FILE") ...\\&]\n" : ""
        return ".SY iap\\-reconcile\n.B \(command.name)\n" + (operands + [more] + options).joined() + ".YS\n"
    }

    private static var everywhere: String {
        ".SY iap\\-reconcile\n.I COMMAND\n" + CommandTable.everywhere.map(optional).joined() + ".YS\n"
    }

    private static func needed(_ option: OptionForm) -> String { ".B \(label(option))\n" }

    private static func optional(_ option: OptionForm) -> String { ".RB [ \(label(option)) ]\n" }

    /// What must not be broken apart at a line's end.
    private static func label(_ option: OptionForm) -> String {
        name(option) + (option.value.map { "\\~\\fI\($0.name)\\fR" } ?? "")
    }

    private static func name(_ option: OptionForm) -> String {
        "--\(option.name)".replacing("-", with: "\\-")
    }
}
