/// A key that a section may hold: how its value gets into what the section describes.
struct SettingKey<Target> {
    let read: (Setting, inout Target) throws(ConfigurationError) -> Void

    init(_ read: @escaping (Setting, inout Target) throws(ConfigurationError) -> Void) {
        self.read = read
    }
}
