import AppStoreSimulator
import Foundation
import Verification

/// The root certificates of what a store signs, in a file for the job to read.
struct RootsFile {
    let path: String

    init(of store: SimulatedAppStore) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "iap-roots-\(UUID().uuidString).pem")
        try Data(store.rootCertificatesPEM.utf8).write(to: file)
        path = file.path(percentEncoded: false)
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

extension AppleSettings {
    /// How a simulated App Store is asked.
    ///
    /// - Parameter roots: the file of the store's own root certificates.
    init(at store: SimulatedAppStore.Addresses, roots: String) {
        self.init()
        verifyReceiptProduction = store.productionVerifyReceipt
        verifyReceiptSandbox = store.sandboxVerifyReceipt
        serverAPIProduction = store.productionServerAPI
        serverAPISandbox = store.sandboxServerAPI
        rootCertificates = roots
        timeout = 5
    }
}
