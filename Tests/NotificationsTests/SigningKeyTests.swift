import Foundation
import Testing

@testable import Notifications

@Suite struct SigningKeyTests {
    /// The example of <https://www.standardwebhooks.com>, whose libraries receivers verify with.
    @Test func theStandardsExampleHasTheStandardsSignature() throws {
        let key = try #require(SigningKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = try key.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Data(#"{"test": 2432232314}"#.utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(arguments: [
        "", "hunter2", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==", String(repeating: "AAAA", count: 22), "whsec_",
    ])
    func whatIsTooShortTooLongOrNoBase64IsNoKey(text: String) {
        #expect(SigningKey(text) == nil)
    }

    @Test func aKeyIsNeverShown() throws {
        let key = try #require(SigningKey("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key)\(String(reflecting: key))\(dumped)".contains("secret"))
        #expect(!dumped.contains("49") && Mirror(reflecting: key).children.isEmpty)
    }
}
