/// A server's key and certificate for localhost, and the certificate authority that signed it, whose own key nobody
/// has. They are part of the simulator, like `TestKeys`.
struct ServerCredentials: Sendable {
    let keyPEM: String
    let certificatePEM: String
    /// For clients to trust.
    let authorityPEM: String

    init() {
        let file = KeyFile(PackageResources.localhost_pem)
        keyPEM = file.key.pem
        certificatePEM = file.leaf.pem
        authorityPEM = file.root.pem
    }
}
