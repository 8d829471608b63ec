import Foundation
import NightlyRun

/// Reads a secret from a file of its own, and refuses one that others may read, as ssh does.
enum SecretFile {
    static func read(_ setting: Setting) throws(ConfigurationError) -> Secret {
        try read(try setting.nonEmpty(), forbidden: 0o077, setting)
    }

    /// A credential that systemd's `LoadCredential=` laid into the service's own folder. Group bits say nothing
    /// there: they show the mask of the access list by which systemd lets the service's user in.
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
        // Opened first and looked at through the descriptor, so that the file looked at is the file read. Without
        // waiting, for a pipe would keep the job waiting.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw setting.error("the secret “\(path)” can't be read: \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw setting.error("the secret “\(path)” is no regular file")
        }
        guard status.st_mode & forbidden == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw setting.error("the secret “\(path)” may be read by others (mode \(mode)); run: chmod 600 \(path)")
        }
        let data = (try? file.read(upToCount: 65_536)) ?? Data()
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else { throw setting.error("the secret “\(path)” is empty") }
        return Secret(text)
    }
}
