import Foundation
import Verification

/// What becomes of the secrets that a configuration names.
enum Secrets: Hashable {
    /// They are read, for a command that asks Apple; `credentials` is the folder of systemd's credentials,
    /// `$CREDENTIALS_DIRECTORY`.
    case read(credentials: String?)
    /// They are read as far as that can be done, for telling of a run that a secret keeps from beginning.
    case whereReadable(credentials: String?)
    /// They stay where they are: whoever only changes the schema or writes a report again need not be let near them.
    case leftAlone

    /// They are read, with the credentials that this process was started with.
    static var ofThisProcess: Secrets { .read(credentials: credentials) }

    /// The same, as far as that can be done.
    static var ofThisProcessWhereReadable: Secrets { .whereReadable(credentials: credentials) }

    private static var credentials: String? { ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] }

    /// Whether one of no use is as good as none.
    var isLenient: Bool {
        if case .whereReadable = self { true } else { false }
    }

    func secret(inFile setting: Setting) throws(ConfigurationError) -> Secret? {
        switch self {
        case .read: try SecretFile.read(setting)
        case .whereReadable: try? SecretFile.read(setting)
        case .leftAlone: nil
        }
    }

    func secret(inCredential setting: Setting) throws(ConfigurationError) -> Secret? {
        switch self {
        case .read(let credentials): try SecretFile.readCredential(setting, in: credentials)
        case .whereReadable(let credentials): try? SecretFile.readCredential(setting, in: credentials)
        case .leftAlone: nil
        }
    }
}
