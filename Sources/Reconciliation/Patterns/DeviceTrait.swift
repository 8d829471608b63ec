import Foundation

/// A property of a device by which purchases are compared. The raw value is the field of the device's JSON.
public enum DeviceTrait: String, Hashable, Sendable, CaseIterable {
    case model
    case system = "os"
    case appVersion = "app_version"

    /// A client may send a text of any length; one that is longer names no kind of device.
    public static let longestValue = 100

    /// The values of a device's JSON, as far as they are texts.
    public static func values(in device: String) -> [DeviceTrait: String] {
        guard let fields = try? JSONDecoder().decode([String: Field].self, from: Data(device.utf8)) else { return [:] }
        return Dictionary(
            uniqueKeysWithValues: allCases.compactMap { trait in
                guard let value = fields[trait.rawValue]?.text, value.unicodeScalars.count <= longestValue else {
                    return nil
                }
                return (trait, value)
            })
    }

    /// A field, whatever it holds.
    private struct Field: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }
}
