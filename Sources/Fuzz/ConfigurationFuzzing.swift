import Foundation

@testable import IAPReconcile

/// Feeds the reader of the configuration, which leaves secrets where they are.
enum ConfigurationFuzzing {
    static func decode(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") else { return }
        do {
            _ = try Configuration.parse(text, file: "fuzz", isReadableByOthers: true, secrets: .leftAlone)
        } catch {
            precondition(!error.text.isEmpty)
        }
    }

    static var seeds: [[UInt8]] {
        [
            """
            # Comment
            [database]
            conninfo = host=/run/postgresql user=iap_job dbname=iap
            support_conninfo = service=support
            [apple]
            verify_receipt_production = https://buy.itunes.apple.com/verifyReceipt
            requests_per_second = 200
            timeout = 10.5
            [run]
            workers = shared
            connections = 2
            batch_size = 500
            time_zone = Asia/Shanghai
            try_again_share = 0.5
            [report]
            directory = /var/lib/iap-reconcile/reports
            language = zh
            [app com.example.game]
            environment = production
            shared_secret_file = /etc/iap-reconcile/game.secret
            grace = 36h
            since = 2026-11-01T00:00:00Z
              verification = server-api
            ; Comment
            server_api_issuer_id = 57246542-96fe-1a63-e053-0824d011072a
            server_api_key_id = 2X9R4HXF34
            server_api_key_file = /etc/iap-reconcile/key.p8

            """,
            """
            [mail]
            from = job@example.com
            to = a@example.com, "B" <b@example.com>
            [webhook]
            url = https://example.com/hook
            secret_file = /x
            [ping]
            success = https://hc.example.com/1
            [metrics]
            file = /var/lib/node_exporter/iap.prom

            """,
        ].map { Array($0.utf8) }
    }
}
