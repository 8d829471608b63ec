import AppStore
public import Foundation

/// Looks into receipts, signed transactions and answers offline, for `inspect`.
public struct Inspector: Sendable {
    /// Larger files are refused unread.
    public static let sizeLimit = ReceiptText.sizeLimit

    private let inspector: ReceiptInspector

    /// - Parameter root: certificates in PEM or DER form that are trusted besides Apple's.
    public init(trusting root: Data? = nil) throws(UntrustableRoot) {
        guard let root else {
            inspector = ReceiptInspector(roots: .apple)
            return
        }
        do {
            inspector = ReceiptInspector(roots: try TrustRoots.apple.adding(contentsOf: root))
        } catch {
            throw UntrustableRoot(description: "\(error)")
        }
    }

    /// - Parameter file: the name to say in the inspection
    public func inspect(_ contents: Data, file: String) -> Inspection {
        do {
            return Inspection(file: file, try inspector.inspect(contents))
        } catch {
            return Inspection(file: file, error: "\(error)")
        }
    }
}

/// A file that was to be trusted and holds no certificates.
public struct UntrustableRoot: Error, CustomStringConvertible {
    /// What is wrong, to stand behind the file's name.
    public let description: String
}
