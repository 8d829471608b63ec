import Foundation

/// A certificate authority made on the spot, and a server's key and certificate for localhost that it signed.
struct ServerCredentials: Sendable {
    let keyPEM: String
    let certificatePEM: String
    /// For clients to trust.
    let authorityPEM: String

    init() {
        var random = SystemRandomNumberGenerator()
        let authorityKey = SigningKey(.p256, SeededRandom(seed: random.next()))
        let serverKey = SigningKey(.p256, SeededRandom(seed: random.next()))
        let now = Date()
        let validity = now.addingTimeInterval(-86_400)..<now.addingTimeInterval(30 * 86_400)
        let authority = Certificate(
            Certificate.Name(common: "App Store Simulator CA"), serial: 1, key: authorityKey, validity: validity,
            extensions: [.authority, .signsCertificates])
        let server = Certificate(
            Certificate.Name(common: "localhost"), serial: 2, key: serverKey,
            issuer: Certificate.Issuer(name: authority.name, key: authorityKey), validity: validity,
            extensions: [.localhost, .isServer])
        keyPEM = serverKey.pem
        certificatePEM = server.pem
        authorityPEM = authority.pem
    }
}
