import Foundation
import Reconciliation

/// The number of open cases for each program and kind of device, counted as they come.
struct ClientTally {
    /// A client may say anything of its device, so kinds beyond this number are counted together.
    private static let kinds = 5000

    /// The app is named because two apps may have a version of the same number.
    struct Client: Hashable {
        let bundleID: BundleID
        let value: String
    }

    private(set) var cases: [DeviceTrait: [Client: Int]] = [:]
    private(set) var others: [DeviceTrait: Int] = [:]
    /// The traits of earlier devices: most customers share theirs with others.
    private var read: [String: [DeviceTrait: String]] = [:]

    mutating func add(_ lostOrder: ReportedCase) {
        guard let device = lostOrder.device else { return }
        for (trait, value) in traits(of: device) {
            let client = Client(bundleID: lostOrder.key.bundleID, value: value)
            if cases[trait, default: [:]].count < Self.kinds || cases[trait]?[client] != nil {
                cases[trait, default: [:]][client, default: 0] += 1
            } else {
                others[trait, default: 0] += 1
            }
        }
    }

    private mutating func traits(of device: String) -> [DeviceTrait: String] {
        if let known = read[device] { return known }
        let values = DeviceTrait.values(in: device)
        if read.count < Self.kinds { read[device] = values }
        return values
    }
}

/// The programs and devices with the most cases, which make a release of the app that loses orders stand out.
struct ClientCharts {
    let tally: ClientTally
    let figures: [ClientFigures]
    let readers: Readers

    private static let shown = 6

    /// A card for each trait that clients named.
    var html: HTML {
        let traits: [(DeviceTrait, Phrase)] = [
            (.appVersion, .byAppVersion), (.system, .bySystem), (.model, .byModel),
        ]
        return "\(traits.map { trait, title in card(trait, title) })"
    }

    private func card(_ trait: DeviceTrait, _ title: Phrase) -> HTML {
        guard let counts = tally.cases[trait], let most = counts.values.max() else { return "" }
        let ranked = counts.sorted { one, other in
            (other.value, one.key.value, one.key.bundleID.text) < (one.value, other.key.value, other.key.bundleID.text)
        }
        // If there is only one more, its name takes no more room than “others”.
        let shown = ranked.count == Self.shown + 1 ? ranked.count : Self.shown
        let rest = ranked.dropFirst(shown)
        let others = rest.reduce(0) { $0 + $1.value } + (tally.others[trait] ?? 0)
        let rows = ranked.prefix(shown).map { client, count in
            row(name(client), count, of: most, share: share(of: client, trait))
        }
        let last =
            others > 0
            ? row(
                readers.each { $0.words.html(.moreClients, ["n": "\($0.number(rest.count))"]) }, others, of: most,
                share: "")
            : ""
        return """
            <div class="card"><h2>\(readers.text(title))</h2><p class="soft">\(readers.text(.clientsNote))</p>
            <table class="ageing clients"><thead class="unseen"><tr><th scope="col">\(readers.text(title))</th><td></td>\
            <th scope="col">\(readers.text(.count))</th><th scope="col">\(readers.text(.lostShare))</th></tr></thead><tbody>
            \(rows)\(last)</tbody></table></div>

            """
    }

    /// The bar of all others may be too long for its place: what is left out of it is a gap.
    private func row(_ name: HTML, _ count: Int, of most: Int, share: HTML) -> HTML {
        let bar: HTML =
            count > most
            ? #"<path class="fill-age" d="M0 0H90L86 10H0ZM95 0H100V10H91Z"/>"#
            : #"<rect class="fill-age" width="\#(Charts.percent(count, of: most))" height="10"/>"#
        return """
            <tr><th scope="row">\(name)</th><td class="bar">\
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">\
            \(bar)</svg></td>\
            <td class="figure">\(readers.first.number(count))</td><td class="figure soft">\(share)</td></tr>

            """
    }

    private func name(_ client: ClientTally.Client) -> HTML {
        hasSeveralApps
            ? "\(HTML.foreign(client.value)) <span class=\"soft\">\(HTML.foreign(client.bundleID.text))</span>"
            : HTML.foreign(client.value)
    }

    private var hasSeveralApps: Bool {
        Set(tally.cases.values.flatMap { $0.keys.map(\.bundleID) }).count > 1
    }

    /// The share of recent purchases with it that is lost; empty if unknown.
    private func share(of client: ClientTally.Client, _ trait: DeviceTrait) -> HTML {
        let known = figures.first {
            $0.bundleID == client.bundleID && $0.trait == trait && $0.value == client.value
        }
        guard let counts = known?.counts, counts.cases + counts.delivered > 0 else { return "" }
        let share = 100 * Double(counts.cases) / Double(counts.cases + counts.delivered)
        return readers.each { $0.words.html(.lostOf, ["share": "\($0.number(share, decimals: share < 10 ? 1 : 0))"]) }
    }
}
