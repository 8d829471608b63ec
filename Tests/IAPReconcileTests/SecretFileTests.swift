import Job
import Verification
import Foundation
import Testing

@testable import IAPReconcile

@Suite struct SecretFileTests {
    @Test func aFileThatOnlyItsOwnerMayReadIsRead() throws {
        try withFolder { folder in
            try write("hunter2\n", mode: 0o600, to: folder.appending(path: "secret"))
            let secret = try parse("shared_secret_file = \(folder.path())secret").settings.apps.first?.sharedSecret
            #expect(secret?.plainText == "hunter2")
            #expect(secret.map { "\($0)" } == "(secret)")
        }
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o620])
    func aFileThatOthersMayReachIsRefused(mode: Int) throws {
        try withFolder { folder in
            let path = folder.appending(path: "secret")
            try write("hunter2", mode: mode, to: path)
            let error = try #require(throws: ConfigurationError.self) {
                try parse("shared_secret_file = \(path.path())")
            }
            #expect(error.description.hasPrefix("x:2: "))
            #expect(error.text.hasSuffix("run: chmod 600 \(path.path())"))
            #expect(!error.description.contains("hunter2"))
        }
    }

    @Test func whatIsNoSecretIsRefused() throws {
        try withFolder { folder in
            let empty = folder.appending(path: "empty")
            try write("\n", mode: 0o600, to: empty)
            #expect(try refusal(of: empty.path()).hasSuffix("is empty"))
            #expect(try refusal(of: folder.path()).hasSuffix("is no regular file"))
            #expect(try refusal(of: folder.path() + "none").hasSuffix("No such file or directory"))
        }
    }

    /// A database or a log, named by mistake.
    @Test func aConfigurationOfGigabytesIsNotReadWhole() throws {
        try withFolder { folder in
            let path = folder.appending(path: "huge.conf")
            try write("", mode: 0o600, to: path)
            try FileHandle(forWritingTo: path).truncate(atOffset: 8 << 30)
            let error = try #require(throws: ConfigurationError.self) {
                try Configuration.read(path.path(), secrets: .leftAlone)
            }
            #expect(error.text.hasPrefix("the configuration is larger than 4 MiB"), "\(error.text)")
        }
    }

    @Test func aCredentialIsFoundInItsFolder() throws {
        try withFolder { folder in
            // As systemd shows it to a service that runs as another user: the group's bits are the list's mask.
            try write("hunter2", mode: 0o440, to: folder.appending(path: "com.a"))
            let text = "shared_secret_credential = com.a"
            let secret = try parse(text, credentials: folder.path()).settings.apps.first?.sharedSecret
            #expect(secret?.plainText == "hunter2")
            let error = try #require(throws: ConfigurationError.self) { try parse(text) }
            #expect(error.text.contains("LoadCredential=com.a"))
            #expect(throws: ConfigurationError.self) {
                try parse("shared_secret_credential = ../com.a", credentials: folder.path())
            }
        }
    }

    @Test func aCommandThatAsksNobodyLeavesSecretsAlone() throws {
        let text = "[app com.a]\nshared_secret_file = /nonexistent/secret\n"
        let configuration = try Configuration.parse(text, file: "x", secrets: .leftAlone)
        #expect(configuration.settings.apps.count == 1)
        #expect(configuration.settings.apps.first?.sharedSecret == nil)
    }

    private func refusal(of path: String) throws -> String {
        try #require(throws: ConfigurationError.self) { try parse("shared_secret_file = \(path)") }.text
    }

    @discardableResult
    private func parse(_ line: String, credentials: String? = nil) throws -> Configuration {
        try Configuration.parse("[app com.a]\n\(line)", file: "x", secrets: .read(credentials: credentials))
    }

    private func write(_ text: String, mode: Int, to file: URL) throws {
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path())
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = URL(filePath: NSTemporaryDirectory(), directoryHint: .isDirectory)
            .appending(path: "iap-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}
