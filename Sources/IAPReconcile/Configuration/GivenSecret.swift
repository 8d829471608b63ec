import Notifications
import Verification

/// A secret that a section names, with the key that names it.
struct GivenSecret<Value: Sendable>: Sendable {
    let key: String
    /// `nil` if secrets are left alone, or if this one can't be read and only readable ones are wanted.
    let value: Value?
}

extension Setting {
    func secretFile() throws(ConfigurationError) -> GivenSecret<Secret> {
        GivenSecret(key: key, value: try secrets.secret(inFile: self))
    }

    func secretCredential() throws(ConfigurationError) -> GivenSecret<Secret> {
        GivenSecret(key: key, value: try secrets.secret(inCredential: self))
    }

    /// The key that a webhook is signed with.
    func signingKey(in secret: GivenSecret<Secret>) throws(ConfigurationError) -> GivenSecret<SigningKey> {
        guard let value = secret.value else { return GivenSecret(key: key, value: nil) }
        guard let signingKey = SigningKey(value.plainText) else {
            if secrets.isLenient { return GivenSecret(key: key, value: nil) }
            throw error("the secret “\(text)” is no base64 of 24 to 64 bytes; make one by: openssl rand -base64 32")
        }
        return GivenSecret(key: key, value: signingKey)
    }
}
