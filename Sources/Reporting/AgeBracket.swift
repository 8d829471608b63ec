import Foundation

/// How long ago a purchase was made, in whole days, by the brackets in which finance counts what is owed.
enum AgeBracket: String, CaseIterable {
    case upToOne = "0-1"
    case upToSeven = "2-7"
    case upToThirty = "8-30"
    case upToNinety = "31-90"
    case older = "91-"

    init(age: TimeInterval) {
        switch Int(max(0, age) / 86_400) {
        case ...1: self = .upToOne
        case ...7: self = .upToSeven
        case ...30: self = .upToThirty
        case ...90: self = .upToNinety
        default: self = .older
        }
    }
}
