import AppStore
import Reconciliation

extension JWSError {
    /// The state of the signature that the error implies.
    var signature: OfflineSignature? {
        switch self {
        case .wrongSignature, .malformedSignature, .algorithm: .invalid
        case .chain, .certificateCount, .keyNotP256, .noSigningDate, .notSignedByApple, .environment, .bundleID,
            .appAppleID:
            .untrusted
        case .nested(_, let error): error.signature
        case .tooLarge, .notCompact, .malformedHeader, .malformedPayload: nil
        }
    }

    /// Whether no setting and no newer program can make it a payload that Apple signed for the app.
    var isFinal: Bool {
        switch self {
        case .tooLarge, .notCompact, .malformedHeader, .malformedPayload, .noSigningDate, .malformedSignature,
            .wrongSignature, .notSignedByApple:
            true
        case .bundleID(let found, _): found != nil
        case .algorithm, .certificateCount, .keyNotP256, .chain, .appAppleID, .environment: false
        // Apple signed it around what it carries.
        case .nested(_, .bundleID(let found, _)): found != nil
        case .nested: false
        }
    }
}
