import Foundation
import Testing

@testable import AppStore

/// The verdict on an answer's text.
func verdict(
    on json: String, from endpoint: ServerEnvironment = .production, hasSecret: Bool = true
) -> VerifyReceiptVerdict {
    VerifyReceiptVerdict(body: Data(json.utf8), endpoint: endpoint, hasSecret: hasSecret)
}

/// What a genuine answer's text says; records an issue if it isn't one.
func answer(
    _ json: String, from endpoint: ServerEnvironment = .production,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> VerifiedReceiptAnswer {
    let verdict = verdict(on: json, from: endpoint)
    guard case .settled(.genuine(let answer)) = verdict else {
        Issue.record("not genuine: \(verdict)", sourceLocation: sourceLocation)
        throw CancellationError()
    }
    return answer
}

/// An answer of production whose receipt has these rows.
func answer(
    inApp: String, latest: String = "[]", sourceLocation: SourceLocation = #_sourceLocation
) throws -> VerifiedReceiptAnswer {
    try answer(
        """
        {"status": 0, "environment": "Production", "latest_receipt_info": \(latest),
         "receipt": {"bundle_id": "com.example.game", "receipt_type": "Production", "in_app": \(inApp)}}
        """, sourceLocation: sourceLocation)
}

/// A row of an answer with these fields beside those that every row has.
func row(_ id: String, _ further: String = "") -> String {
    """
    {"quantity": "1", "product_id": "gems_100", "transaction_id": "\(id)", "original_transaction_id": "\(id)",
     "purchase_date_ms": "1700000000000"\(further.isEmpty ? "" : ", ")\(further)}
    """
}
