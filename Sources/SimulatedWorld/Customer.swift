import AppStoreSimulator

/// A person with a device and an Apple account who is logged in to one app.
struct Customer: Sendable {
    let number: Int
    let userID: String
    let account: String
    /// The client's report on its device: JSON text, with names that people really give their devices.
    let device: String
    let catalog: Catalog

    init(number: Int, catalog: Catalog, random: inout SeededRandom) {
        self.number = number
        // Now and then an id that a spreadsheet would take for a formula.
        userID = number % 211 == 3 ? "=u\(100_000 + number)" : "u\(100_000 + number)"
        account = "account-\(number)"
        self.catalog = catalog
        device = Self.device(appVersion: Self.versions[number % Self.versions.count], &random)
    }

    /// Most customers have the latest.
    private static let versions = ["3.4.1", "3.4.1", "3.4.0", "3.4.1", "3.3.2"]
    private static let models = ["iPhone15,2", "iPhone14,5", "iPhone17,1", "iPad13,4", "iPhone12,8"]
    private static let systems = ["iOS 16.7.10", "iOS 17.6.1", "iOS 18.1", "iPadOS 18.1", "iOS 12.5.7"]
    private static let names = [
        "iPhone", "iPhone", "iPad", "Anna's iPhone", "小明的 iPhone", "王芳的iPad", "たろうのiPhone", "📱 мой",
    ]
    private static let hostileNames = [
        "<script>alert('device')</script>", "=HYPERLINK(\"http://example.invalid\",\"click\")", "@SUM(1+1)*cmd",
        "'; DROP TABLE iap.receipts; --", "\u{202E}enohPi", "a\tb\nc,\"d\"", "<img src=x onerror=alert(1)>",
    ]

    private static func device(appVersion: String, _ random: inout SeededRandom) -> String {
        let name = random.happens(0.02) ? random.pick(hostileNames) : random.pick(names)
        var text = JSONText()
        text.object {
            $0.field("app_version", appVersion)
            $0.field("model", random.pick(models))
            $0.field("name", name)
            $0.field("os", random.pick(systems))
        }
        return String(decoding: text.bytes, as: UTF8.self)
    }
}
