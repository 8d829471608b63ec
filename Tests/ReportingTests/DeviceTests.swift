import Testing

@testable import Reporting

/// What a report says of a client's device.
@Suite struct DeviceTests {
    @Test func whatAppsAreToldToSendIsShownInOneOrder() {
        let device = #"{"app_version": "2.4.1", "name": "Ann's iPhone", "os": "iOS 18.1", "model": "iPhone17,1"}"#
        #expect(Device.text(device) == "iPhone17,1, iOS 18.1, 2.4.1")
        #expect(Device.text(#"{"app_version": "2.4.1"}"#) == "2.4.1")
    }

    @Test func anythingElseIsShownAsItCame() {
        #expect(Device.text(nil) == "")
        for other in [#"{"name": "Ann's iPhone"}"#, #"{"model": 7}"#, "[1]", "iPhone"] {
            #expect(Device.text(other) == other)
        }
    }

    @Test func aLongOneIsCut() {
        #expect(Device.text(String(repeating: "x", count: 10_000)).count <= 301)
    }
}
