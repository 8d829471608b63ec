/// A key that a section may hold: its name, the kind of its value, and where the value goes.
struct SettingKey<Target>: Sendable {
    typealias Place<Value> = any WritableKeyPath<Target, Value> & Sendable

    let name: String
    let read: @Sendable (Setting, inout Target) throws(ConfigurationError) -> Void
    /// Whether it is known only to be refused, with a message that says what to write instead.
    let isRefused: Bool

    init<Value>(_ name: String, _ kind: ValueKind<Value>, _ place: Place<Value>) {
        self.init(name) { setting, target throws(ConfigurationError) in
            target[keyPath: place] = try kind.read(setting)
        }
    }

    init<Value>(_ name: String, _ kind: ValueKind<Value>, _ place: Place<Value?>) {
        self.init(name) { setting, target throws(ConfigurationError) in
            target[keyPath: place] = try kind.read(setting)
        }
    }

    /// One of several keys for the same value, of which a section may have only one.
    init<Value>(
        _ name: String, _ kind: ValueKind<Value>, once place: Place<Value?>,
        else refusal: @escaping @Sendable (Value) -> String
    ) {
        self.init(name) { setting, target throws(ConfigurationError) in
            let value = try kind.read(setting)
            if let earlier = target[keyPath: place] { throw setting.error(refusal(earlier)) }
            target[keyPath: place] = value
        }
    }

    /// A secret in a file of its own or as a credential.
    init<Value>(
        _ name: String, _ kind: ValueKind<GivenSecret<Value>>,
        once place: Place<GivenSecret<Value>?>
    ) {
        self.init(name, kind, once: place) { "“\($0.key)” already names this secret; keep one of the two" }
    }

    /// A secret in the configuration itself, which is refused.
    init(refusedSecret name: String) {
        self.init(name, isRefused: true) { setting, _ throws(ConfigurationError) in
            throw setting.error(
                "a secret doesn't belong in this file; put it in a file of its own that only the job may read, "
                    + "and name it with “\(name)_file”, or use “\(name)_credential” with systemd")
        }
    }

    private init(
        _ name: String, isRefused: Bool = false,
        read: @escaping @Sendable (Setting, inout Target) throws(ConfigurationError) -> Void
    ) {
        self.name = name
        self.isRefused = isRefused
        self.read = read
    }
}
