import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// The scripts that `completion` prints, loaded by the shells that they are for.
@Suite struct CompletionTests {
    /// A line that somebody types, and the word that it is completed to; nothing where nothing fits.
    private static let lines = [
        ("repo", "report"), ("run --dr", "--dry-run"), ("import ord", "orders"), ("--log-format j", "json"),
        ("resolve 1 --environment=s", "sandbox"), ("--config x completion f", "fish"), ("report --dr", nil),
        ("check --js", "--json"), ("inspect FOLDER/rec", "FOLDER/receipt.b64"), ("check FOLDER/rec", nil),
        ("run --report-dir FOLDER/repo", "FOLDER/reports"), ("statement 2026-10 --format x", "xlsx"),
        ("import orders x --format x", nil), ("import orders x --format jsonl", "jsonl"),
    ].map { (typed: "iap-reconcile \($0.0)", word: $0.1 as String?) }

    @Test func bashCompletes() async throws {
        try await withCompletion(of: .bash) { shell in
            for line in Self.lines { #expect(try await shell.words(line.typed) == shell.expected(line), "\(line)") }
            try await shell.offersAll()
        }
    }

    @Test(.enabled(if: Shell.fish.isInstalled, "fish is not installed"))
    func fishCompletes() async throws {
        try await withCompletion(of: .fish) { shell in
            for line in Self.lines {
                let words = try await shell.words(line.typed).map { $0.replacing("--environment=", with: "") }
                #expect(words == shell.expected(line), "\(line)")
            }
            try await shell.offersAll()
        }
    }

    @Test(.enabled(if: Shell.zsh.isInstalled, "zsh is not installed"))
    func zshCompletes() async throws {
        try await withCompletion(of: .zsh) { shell in
            for line in Self.lines {
                let completed = try await shell.words(line.typed)
                guard let word = shell.expected(line).first else {
                    #expect(completed == [shell.inFolder(line.typed)], "\(line)")
                    continue
                }
                #expect(completed.first?.hasSuffix(word) == true, "\(line): \(completed)")
            }
        }
    }

    @Test func anotherShellIsRefused() throws {
        let refusals = try [["completion"], ["completion", "zhs"], ["completion", "bash", "zsh"]].map { arguments in
            try #require(throws: UsageError.self) { try Invocation(arguments: arguments) }.description
        }
        #expect(
            refusals == [
                "completion needs one shell: bash, zsh, fish",
                "nothing is known of “zhs”, only of bash, zsh, fish; did you mean “zsh”?",
                "completion needs one shell: bash, zsh, fish",
            ])
    }

    /// Where shells look for it.
    @Test func makeInstallPutsEachWhereItsShellLooks() throws {
        let makefile = try String(contentsOf: PackageRoot.folder.appending(path: "Makefile"), encoding: .utf8)
        for path in ["bash-completion/completions/iap-reconcile", "fish/vendor_completions.d/iap-reconcile.fish"] {
            #expect(makefile.contains("$(DESTDIR)$(PREFIX)/share/\(path)\""), "\(path)")
        }
        #expect(makefile.contains("$(DESTDIR)$(ZSH_COMPLETIONS)/_iap-reconcile\""))
        #expect(makefile.contains("ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions\n"))
    }

    private func withCompletion(of shell: Shell, _ body: (CompletingShell) async throws -> Void) async throws {
        let script = try await ChildProcess.runSuccessfully(ProgramNight.program, ["completion", shell.rawValue])
        try await withTemporaryFolder { folder in
            let path = folder.path(percentEncoded: false)
            let trimmed = path.hasSuffix("/") ? String(path.dropLast()) : path
            try write(script, to: "\(trimmed)/_iap-reconcile")
            try write("x", to: "\(trimmed)/receipt.b64")
            try FileManager.default.createDirectory(
                atPath: "\(trimmed)/reports", withIntermediateDirectories: false)
            try await body(CompletingShell(shell: shell, folder: trimmed))
        }
    }
}

/// A shell that has loaded its script from a folder.
private struct CompletingShell {
    let shell: Shell
    let folder: String

    func inFolder(_ text: String) -> String { text.replacing("FOLDER", with: folder) }

    func expected(_ line: (typed: String, word: String?)) -> [String] { line.word.map { [inFolder($0)] } ?? [] }

    /// What the line's last word may be completed to; of zsh, the whole line as it completes it.
    func words(_ line: String) async throws -> [String] {
        let arguments = ["60", shell.path] + options + [folder, inFolder(line)]
        let output = try await ChildProcess.runSuccessfully("/usr/bin/timeout", arguments)
        // Behind its tab, fish describes; behind a folder, some shells write a slash.
        return output.split(separator: "\n").map {
            String($0.prefix { $0 != "\t" }).replacing(#/[/ ]+$/#, with: "")
        }
    }

    /// Every command, and behind each its options and those of every command.
    func offersAll() async throws {
        let commands = try await words("iap-reconcile ")
        #expect(Set(commands) == Set(CommandTable.commands.map(\.name)))
        for command in CommandTable.commands {
            let options = try await words("iap-reconcile \(command.name) --")
            #expect(Set(options) == Set((command.options + CommandTable.everywhere).map { "--\($0.name)" }))
        }
    }

    private var options: [String] {
        switch shell {
        case .bash: ["--norc", "-c", Self.bash, "bash"]
        case .zsh: ["-f", "-c", Self.zsh, "zsh"]
        case .fish: ["--no-config", "-c", "source $argv[1]/_iap-reconcile; complete -C $argv[2]"]
        }
    }

    /// Takes the line apart as readline does.
    private static let bash = """
        source "$1/_iap-reconcile"
        compopt() { :; }
        read -ra COMP_WORDS <<<"${2//=/ = }"
        [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        complete -p iap-reconcile >/dev/null && _iap_reconcile
        printf '%s\\n' "${COMPREPLY[@]}"
        """

    /// Types into a zsh of its own, whose completion needs a terminal.
    private static let zsh = """
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "fpath=($1 \\$fpath); autoload -Uz compinit; compinit -u -D"
        zpty -w shell 'tell() { zle complete-word; print -r -- "<${BUFFER}>" }; zle -N tell'
        zpty -w shell "bindkey '^T' tell; print REA''DY"
        zpty -r -m shell out '*READY*'
        zpty -w -n shell $'\\C-u'"$2"$'\\C-t'
        zpty -r -m shell out '*<iap*>*'
        print -r -- "${${out##*<}%%>*}"
        zpty -d shell
        """
}

extension Shell {
    fileprivate var path: String { "/usr/bin/\(rawValue)" }
    fileprivate var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }
}
