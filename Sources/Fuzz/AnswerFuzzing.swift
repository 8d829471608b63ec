import Foundation

@testable import AppStore

/// Feeds the reader of what `verifyReceipt` answers.
enum AnswerFuzzing {
    static func decode(_ bytes: [UInt8]) {
        for endpoint in [ServerEnvironment.production, .sandbox] {
            let verdict = VerifyReceiptVerdict(body: Data(bytes), endpoint: endpoint, hasSecret: false)
            guard case .settled(.genuine(let answer)) = verdict else { continue }
            for transaction in answer.transactions {
                precondition(!transaction.transactionID.isEmpty && !transaction.productID.isEmpty)
                precondition(transaction.purchaseDate.timeIntervalSince1970 >= 0)
            }
        }
    }

    static var seeds: [[UInt8]] {
        let row = """
            {"quantity":"1","product_id":"gems.60","transaction_id":"370000000000001",\
            "original_transaction_id":"370000000000001","purchase_date":"2026-09-21 14:13:20 Etc/GMT",\
            "purchase_date_ms":"1790000000000","purchase_date_pst":"2026-09-21 07:13:20 America/Los_Angeles",\
            "original_purchase_date_ms":"1790000000000","is_trial_period":"false","expires_date_ms":"1790600000000",\
            "cancellation_date_ms":"1790500000000","cancellation_reason":"1","web_order_line_item_id":"200000000000001",\
            "app_account_token":"7e3fb204-2c3d-4a2c-b8a8-9c1d3a4e5f60","in_app_ownership_type":"PURCHASED"}
            """
        return [
            """
            {"status":0,"environment":"Production","receipt":{"receipt_type":"Production","adam_id":1,\
            "bundle_id":"com.example.game","application_version":"1.4","receipt_creation_date_ms":"1790000000000",\
            "download_id":null,"in_app":[\(row)]},"latest_receipt_info":[\(row)],"latest_receipt":"MIIT"}
            """,
            #"{"status":21006,"receipt":{"bid":"com.example.game","bvrs":"1","item_id":"1",\#(row.dropFirst())}"#,
            #"{"status":21104,"is-retryable":true,"exception":"com.apple.X"}"#,
            #"{"status":21002}"#,
        ].map { Array($0.utf8) }
    }
}
