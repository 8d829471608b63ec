/// One metric with all its values, in Prometheus' text format 0.0.4.
struct MetricFamily {
    enum Kind: String {
        case gauge, counter
    }

    struct Sample {
        let labels: KeyValuePairs<String, String>
        let value: String
    }

    static let prefix = "iap_reconcile_"

    let name: String
    let kind: Kind
    let help: String
    let samples: [Sample]

    /// Makes a metric with one value, or with none if that is unknown.
    init(_ name: String, _ help: String, _ value: String?) {
        self.init(name, help, samples: value.map { [Sample(labels: [:], value: $0)] } ?? [])
    }

    init(_ name: String, kind: Kind = .gauge, _ help: String, samples: [Sample]) {
        self.name = Self.prefix + name
        self.kind = kind
        self.help = help
        self.samples = samples
    }

    /// Makes a metric with a value for each label.
    init(_ name: String, kind: Kind = .gauge, _ help: String, by label: String, _ values: [(String, String)]) {
        self.init(name, kind: kind, help, samples: values.map { Sample(labels: [label: $0.0], value: $0.1) })
    }

    /// The text; empty if there is no value.
    var text: String {
        guard !samples.isEmpty else { return "" }
        return "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + samples.map(line).joined()
    }

    private func line(_ sample: Sample) -> String {
        let labels = sample.labels.map { "\($0.key)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
        return "\(name)\(labels.isEmpty ? "" : "{\(labels)}") \(sample.value)\n"
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}
