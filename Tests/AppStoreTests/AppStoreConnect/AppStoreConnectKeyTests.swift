import Foundation
import TestSupport
import Testing

@testable import AppStore

@Suite struct AppStoreConnectKeyTests {
    private func openssl(_ arguments: String...) async throws -> String {
        try await ChildProcess.runSuccessfully("/usr/bin/openssl", arguments)
    }

    private func error(of text: String) -> AppStoreConnectKeyError? {
        do throws(AppStoreConnectKeyError) {
            _ = try AppStoreConnectKey(file: text.utf8)
            return nil
        } catch {
            return error
        }
    }

    @Test func readsAKeyAsAppStoreConnectGivesIt() async throws {
        let pem = try await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        #expect(error(of: pem) == nil)
        #expect(error(of: pem.replacing("\n", with: "\r\n")) == nil)
    }

    @Test(arguments: ["", "hello", "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQg"])
    func refusesWhatIsNotPEM(text: String) {
        #expect(error(of: text) == .notPEM)
    }

    @Test func refusesWhatIsNotAPrivateKeyOnP256() async throws {
        let pem = try await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        let certificate = try await CertificateAuthority.make().certificate
        #expect(error(of: certificate) == .notPrivate)
        #expect(error(of: "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n") == .notPrivate)
        let p384 = try await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")
        #expect(error(of: p384) == .notP256)
        #expect(error(of: try await openssl("genpkey", "-algorithm", "ED25519")) == .notP256)
        #expect(error(of: String(pem.prefix(100)) + "\n-----END PRIVATE KEY-----\n") == .unreadable)
        #expect(error(of: "-----BEGIN PRIVATE KEY-----\n\n-----END PRIVATE KEY-----\n") == .unreadable)
    }

    /// Nobody is asked for a passphrase: the job runs unattended.
    @Test func refusesAnEncryptedKey() async throws {
        let encrypted = try await openssl(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-128-cbc", "-pass", "pass:word")
        #expect(error(of: encrypted) == .encrypted)
    }

    /// Phrases that follow the name of the file.
    @Test(arguments: [
        (AppStoreConnectKeyError.notPEM, "is not in PEM form: it should begin with -----BEGIN PRIVATE KEY-----"),
        (.notPrivate, "holds no private key: use the .p8 file that App Store Connect gave out"),
        (.encrypted, "is encrypted: use the .p8 file as App Store Connect gave it out"),
        (.unreadable, "holds a private key that can't be read: the file may be cut short or changed"),
        (.notP256, "holds a private key that is not on the curve P-256, which App Store Connect's keys are on"),
    ])
    func saysWhatIsWrong(error: AppStoreConnectKeyError, text: String) {
        #expect(error.description == text)
    }

    @Test func neverShowsTheKey() async throws {
        let key = try await TestChain.shared.value.key
        var dumped = ""
        dump(key, to: &dumped)
        dump(AppStoreConnectCredentials(issuerID: "i", keyID: "k", key: key), to: &dumped)
        for text in ["\(key)", String(reflecting: key), "\([key])", dumped] {
            #expect(text.contains("which is not shown"))
            // The bytes of the key would be printed as a list of numbers.
            #expect(!text.contains("48") && !text.contains("der"))
        }
    }
}
