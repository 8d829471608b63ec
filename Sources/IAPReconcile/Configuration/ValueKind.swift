import Foundation
import Notifications
import Reconciliation
import Verification

/// A kind of value that a setting may have, and how it is read.
struct ValueKind<Value>: Sendable {
    let read: @Sendable (Setting) throws(ConfigurationError) -> Value

    init(_ read: @escaping @Sendable (Setting) throws(ConfigurationError) -> Value) {
        self.read = read
    }

    init(_ reading: @escaping @Sendable (Setting) -> () throws(ConfigurationError) -> Value) {
        read = { setting throws(ConfigurationError) in try reading(setting)() }
    }

    /// One of these words.
    static func choice(_ words: [String: Value]) -> ValueKind where Value: Sendable {
        ValueKind { setting throws(ConfigurationError) in try setting.choice(words) }
    }
}

extension ValueKind where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// One of the type's words.
    static var word: ValueKind { word(but: []) }

    /// One of the type's words, without these.
    static func word(but excepted: [Value]) -> ValueKind {
        let left = Value.allCases.map { ($0.rawValue, $0) }.filter { word in
            !excepted.contains { $0.rawValue == word.0 }
        }
        return .choice(Dictionary(uniqueKeysWithValues: left))
    }
}

extension ValueKind<String> {
    static var text: ValueKind { ValueKind(Setting.nonEmpty) }
    /// How libpq reaches a database.
    static var conninfo: ValueKind { ValueKind(Setting.conninfo) }
    static var address: ValueKind { ValueKind(Setting.address) }
    static var folderAddress: ValueKind { ValueKind(Setting.folderAddress) }
    static var secretAddress: ValueKind { ValueKind(Setting.secretAddress) }
    static var readableFile: ValueKind { ValueKind(Setting.readableFile) }
    static var absolutePath: ValueKind { ValueKind(Setting.absolutePath) }
    static var folder: ValueKind { ValueKind(Setting.folder) }
    static var metricsFile: ValueKind { ValueKind(Setting.metricsFile) }
    /// The content of a file of up to 1 MiB.
    static var textOfFile: ValueKind { ValueKind(Setting.textOfFile) }
}

extension ValueKind<Int> {
    static func whole(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind { setting throws(ConfigurationError) in try setting.whole(range) }
    }
    /// A number of bytes.
    static var size: ValueKind { ValueKind(Setting.size) }
}

extension ValueKind<Int64> {
    static func whole(_ range: ClosedRange<Int>) -> ValueKind {
        ValueKind { setting throws(ConfigurationError) in Int64(try setting.whole(range)) }
    }
}

extension ValueKind<Bool> {
    static var yesOrNo: ValueKind { .choice(["yes": true, "no": false]) }
}

/// Kinds of seconds, and of other numbers with fractions.
extension ValueKind<Double> {
    static var share: ValueKind { ValueKind(Setting.share) }
    static var positive: ValueKind { ValueKind(Setting.positive) }
    static var duration: ValueKind { ValueKind(Setting.duration) }
    static var timeOut: ValueKind { ValueKind(Setting.timeOut) }
    /// A day or longer.
    static var daysOrMore: ValueKind { ValueKind(Setting.daysOrMore) }
}

extension ValueKind<Double?> {
    static var keeping: ValueKind { ValueKind(Setting.keeping) }
    /// 0 for none.
    static var timeOutOrNone: ValueKind {
        ValueKind { setting throws(ConfigurationError) in setting.text == "0" ? nil : try setting.timeOut() }
    }
}

extension ValueKind<Money> {
    /// Above 0.
    static var money: ValueKind { ValueKind(Setting.money) }
}

extension ValueKind<Date> {
    static var moment: ValueKind { ValueKind(Setting.moment) }
}

extension ValueKind<TimeZone> {
    static var timeZone: ValueKind { ValueKind(Setting.timeZone) }
}

extension ValueKind<Set<String>> {
    static var storefronts: ValueKind { ValueKind(Setting.storefronts) }
}

extension ValueKind<SourceQuery.Overlap> {
    static var overlap: ValueKind { ValueKind(Setting.overlap) }
}

extension ValueKind<GivenSecret<Secret>> {
    static var secretFile: ValueKind { ValueKind(Setting.secretFile) }
    static var secretCredential: ValueKind { ValueKind(Setting.secretCredential) }
}

extension ValueKind<GivenSecret<SigningKey>> {
    static var signingKeyFile: ValueKind {
        ValueKind { setting throws(ConfigurationError) in try setting.signingKey(in: setting.secretFile()) }
    }
    static var signingKeyCredential: ValueKind {
        ValueKind { setting throws(ConfigurationError) in try setting.signingKey(in: setting.secretCredential()) }
    }
}

extension ValueKind<MailAddress> {
    static var mailAddress: ValueKind { ValueKind(Setting.mailAddress) }
}

extension ValueKind<[MailAddress]> {
    static var mailAddresses: ValueKind { ValueKind(Setting.mailAddresses) }
}
