/// The keys with which a store signs what Apple signs, and the key that it gives out. They are part of the simulator,
/// so everybody has them and they protect nothing; `scripts/simulator-keys` makes new ones.
public struct TestKeys: Sendable {
    /// The keys of every store of the same world, in every process.
    public static let usual = TestKeys(
        appReceipts: PackageResources.usual_receipts_pem,
        transactionReceipts: PackageResources.usual_transaction_receipts_pem,
        payloads: PackageResources.usual_payloads_pem, api: PackageResources.usual_api_pem)

    /// The keys of a store that takes the receipts of all others for forged, as they take its own.
    public static let stranger = TestKeys(
        appReceipts: PackageResources.stranger_receipts_pem,
        transactionReceipts: PackageResources.stranger_transaction_receipts_pem,
        payloads: PackageResources.stranger_payloads_pem, api: PackageResources.stranger_api_pem)

    /// Signs app receipts: leaf, intermediate, root.
    let appReceipts: KeyFile
    /// Signs iOS 6 style receipts; its key has 1024 bits, as the form leaves room for.
    let transactionReceipts: KeyFile
    /// Signs transactions, renewals and notifications.
    let payloads: KeyFile
    /// The key for the App Store Server API.
    let api: APIKey

    private init(appReceipts: [UInt8], transactionReceipts: [UInt8], payloads: [UInt8], api: [UInt8]) {
        self.appReceipts = KeyFile(appReceipts)
        self.transactionReceipts = KeyFile(transactionReceipts)
        self.payloads = KeyFile(payloads, library: RepeatableRandom.library)
        self.api = APIKey(SigningKey(pem: api))
    }

    /// What clients must trust, in PEM: the two roots, and the issuer of the certificate of iOS 6 style receipts, which
    /// clients must have from elsewhere since those receipts don't hold it.
    var rootsPEM: String {
        appReceipts.root.pem + payloads.root.pem + transactionReceipts.certificates[1].pem
    }
}
