import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// Settings that the setup writes into a configuration that is there.
@Suite struct ConfigurationTextTests {
    @Test func aSettingTakesItsOwnLinesPlace() {
        var text = ConfigurationText("[run]\nbatch_size = 1\n# why\nconnections=2\n[report]\nbatch_size = 3\n")
        text.set("connections", to: "4", in: "run")
        #expect(text.text == "[run]\nbatch_size = 1\n# why\nconnections = 4\n[report]\nbatch_size = 3\n")
        #expect(text.changes == ["[run] connections = 4"])
    }

    @Test func whatIsSetAlreadyIsNoChange() {
        let before = "[run]\n  connections   =  4  \n"
        var text = ConfigurationText(before)
        text.set("connections", to: "4", in: "run")
        #expect(text.text == before && text.changes.isEmpty)
    }

    @Test func aSettingTakesThePlaceOfTheCommentThatShowsIt() {
        var text = ConfigurationText("[a]\n;x = 1\n[b]\n# x = not this\n;x = 2\ny = 3\n")
        text.set("x", to: "9", in: "b")
        #expect(text.text == "[a]\n;x = 1\n[b]\n# x = not this\nx = 9\ny = 3\n")
    }

    @Test func aNewSettingStandsBehindTheSectionsLast() {
        var text = ConfigurationText("[a]\nx = 1\n\n# of b\n[b]\ny = 2\n")
        text.set("z", to: "3", in: "a")
        #expect(text.text == "[a]\nx = 1\nz = 3\n\n# of b\n[b]\ny = 2\n")
    }

    @Test func aSectionThatIsNotThereIsAdded() {
        for before in ["[a]\nx = 1\n", "[a]\nx = 1"] {
            var text = ConfigurationText(before)
            text.set("y", to: "2", in: "b")
            text.set("z", to: "3", in: "b")
            #expect(text.text == "[a]\nx = 1\n\n[b]\ny = 2\nz = 3\n")
        }
    }

    @Test func theExamplesAppGivesWayAndAnotherStays() {
        var text = ConfigurationText("[app example]\n;grace = 1h\n")
        text.begin("app mine", inPlaceOf: "app example")
        #expect(text.text == "[app mine]\n;grace = 1h\n")
        text.begin("app other", inPlaceOf: "app example")
        text.begin("app mine", inPlaceOf: "app example")
        #expect(text.text == "[app mine]\n;grace = 1h\n\n[app other]\n")
        var used = ConfigurationText("[app example]\ngrace = 1h\n")
        used.begin("app mine", inPlaceOf: "app example")
        #expect(used.text == "[app example]\ngrace = 1h\n\n[app mine]\n")
    }

    @Test func aFileThatWindowsSavedKeepsItsLineEnds() throws {
        var text = ConfigurationText("\u{FEFF}[database]\r\n# ours\r\nconninfo = a\r\n[app  mine]\r\ngrace = 2h\r\n")
        text.set("conninfo", to: "b", in: "database")
        text.begin("app mine", inPlaceOf: "app example")
        text.set("since", to: "x", in: "app mine")
        let wanted = "[database]\r\n# ours\r\nconninfo = b\r\n[app  mine]\r\ngrace = 2h\r\nsince = x\r\n"
        #expect(text.text == wanted)
        #expect(text.changes == ["[database] conninfo = b", "[app mine] since = x"])
        let sections = try IniFile.entries(of: text.text, file: "x").filter { $0.content == .section }.map(\.section)
        #expect(sections == ["database", "app  mine"])
    }

    /// Every setting, in every section of the example, is found by the parser where it was written.
    @Test func theExampleWithEachSettingSetIsUnderstoodAsBefore() throws {
        let example = try String(
            contentsOf: PackageRoot.folder.appending(path: "cron/iap-reconcile.conf.example"), encoding: .utf8)
        var seeded = SeededNumbers(state: 5)
        for _ in 0..<200 {
            var text = ConfigurationText(example)
            var expected: [String: String] = [:]
            for key in ["conninfo", "owner_conninfo", "support_conninfo", "service_file"].shuffled(using: &seeded)
                .prefix(2)
            {
                let value = "/v\(Int.random(in: 0...9, using: &seeded))"
                text.set(key, to: value, in: "database")
                expected[key] = value
            }
            let entries = try IniFile.entries(of: text.text, file: "x")
            for (key, value) in expected {
                let settings = entries.filter { $0.section == "database" }.compactMap { entry -> String? in
                    guard case .setting(key, let found) = entry.content else { return nil }
                    return found
                }
                #expect(settings == [value])
            }
        }
    }
}
