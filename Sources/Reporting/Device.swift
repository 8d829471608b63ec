import Reconciliation

/// What a client said of its device.
enum Device {
    /// The fields by which devices are compared, or else the JSON as it is; cut, since a client may send anything.
    static func text(_ json: String?) -> String {
        guard let json else { return "" }
        let values = DeviceTrait.values(in: json)
        let known = DeviceTrait.allCases.compactMap { values[$0] }
        return Printable.cut(known.isEmpty ? json : known.joined(separator: ", "), to: longest)
    }

    private static let longest = 300
}
