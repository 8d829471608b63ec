import Foundation

/// How long ago a purchase was made, in the brackets by which `finance.ageing` counts what is owed: in days of UTC
/// since the day of the purchase. The page's script reads the first and last day from the raw values.
enum AgeBracket: String, CaseIterable {
    case upToOne = "0-1"
    case upToSeven = "2-7"
    case upToThirty = "8-30"
    case upToNinety = "31-90"
    case older = "91-"

    init(purchasedAt: Date, now: Date) {
        func day(_ moment: Date) -> Int { Int((moment.timeIntervalSince1970 / 86_400).rounded(.down)) }
        switch day(now) - day(purchasedAt) {
        case ...1: self = .upToOne
        case ...7: self = .upToSeven
        case ...30: self = .upToThirty
        case ...90: self = .upToNinety
        default: self = .older
        }
    }
}
