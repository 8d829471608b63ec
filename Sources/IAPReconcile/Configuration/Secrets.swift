import Foundation
import Verification

/// What to do with the secrets that a configuration names.
enum Secrets: Hashable {
    /// Read them, for a command that asks Apple; `credentials` is the folder of systemd's credentials,
    /// `$CREDENTIALS_DIRECTORY`.
    case read(credentials: String?)
    /// Read those that can be read, to tell of a run that a secret keeps from beginning.
    case whereReadable(credentials: String?)
    /// Leave them where they are: a command that only changes the schema or writes a report again need not get near
    /// them.
    case leftAlone

    /// Reads them, with the credentials that this process was started with.
    static var ofThisProcess: Secrets { .read(credentials: credentials) }

    /// Reads those that can be read, with the same credentials.
    static var ofThisProcessWhereReadable: Secrets { .whereReadable(credentials: credentials) }

    private static var credentials: String? { ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"] }

    /// Whether an unusable secret counts as missing.
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
