import Foundation
import Verification

/// Reads a secret from its own file, and refuses one that others may read, as ssh does.
enum SecretFile {
    static func read(_ setting: Setting) throws(ConfigurationError) -> Secret {
        try read(try setting.nonEmpty(), forbidden: 0o077, setting)
    }

    /// Reads a credential that systemd's `LoadCredential=` put into the service's own folder. Group bits say nothing
    /// there: they show the mask of the access list through which systemd admits the service's user.
    static func readCredential(_ setting: Setting, in folder: String?) throws(ConfigurationError) -> Secret {
        let name = try setting.nonEmpty()
        let keyForFiles = setting.key.replacing("_credential", with: "_file")
        guard !name.contains("/"), name != ".." else {
            throw setting.error("“\(name)” is a credential's name, not a path; use “\(keyForFiles)” for a file")
        }
        guard let folder else {
            throw setting.error(
                "the credential “\(name)” is not there, for CREDENTIALS_DIRECTORY is not set; start the job by "
                    + "systemd with LoadCredential=\(name):FILE, or use “\(keyForFiles)”")
        }
        return try read("\(folder)/\(name)", forbidden: 0o007, setting)
    }

    private static func read(
        _ path: String, forbidden: mode_t, _ setting: Setting
    ) throws(ConfigurationError) -> Secret {
        let file: RegularFile
        let data: Data
        do throws(RegularFile.Problem) {
            file = try RegularFile(path)
            data = try file.read(upTo: 65_536)
        } catch {
            throw setting.error("the secret “\(path)” \(error)")
        }
        guard file.permissions & forbidden == 0 else {
            let mode = String(file.permissions, radix: 8)
            throw setting.error("the secret “\(path)” may be read by others (mode \(mode)); run: chmod 600 \(path)")
        }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw setting.error("the secret “\(path)” is empty") }
        return Secret(text)
    }
}
