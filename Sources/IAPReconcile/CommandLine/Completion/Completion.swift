/// A shell that can complete what is typed after `iap-reconcile`.
enum Shell: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// The script that enables this.
    var completion: String {
        switch self {
        case .bash: BashCompletion.script
        case .zsh: ZshCompletion.script
        case .fish: FishCompletion.script
        }
    }
}

extension CommandTable {
    /// `--config` and the like, which take the next word.
    static let takingValues = options.filter { $0.value != nil }.map { "--\($0.name)" }

    /// The help of a command or option, on one line.
    static func summary(_ help: String) -> String { help.replacing("\n", with: " ") }
}
