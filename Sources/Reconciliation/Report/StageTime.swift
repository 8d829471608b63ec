/// How long a stage of the run took and how much it handled.
public struct StageTime: Hashable, Codable, Sendable {
    public let name: String
    public let seconds: Double
    public let items: Int

    public init(name: String, seconds: Double, items: Int) {
        self.name = name
        self.seconds = seconds
        self.items = items
    }
}
