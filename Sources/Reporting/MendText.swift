import Reconciliation

/// What the report says of a setting that somebody must correct.
struct MendText: Sentence {
    let phrase: Phrase
    let values: [String: String]

    init(_ setting: SettingToMend) {
        phrase =
            switch setting.cause {
            case .refused: .appRefused
            case .noSection: .appWithoutSection
            case .noProducts: .appWithoutProducts
            }
        values = [
            "app": setting.bundleID, "receipts": String(setting.receipts),
            "transactions": String(setting.transactions), "notices": String(setting.notices),
            "detail": setting.detail ?? "",
        ]
    }
}
