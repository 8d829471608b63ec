extension ScreeningRule {
    /// Made in the other environment than the app's, where nobody pays; an app under test may say that sandbox is
    /// its environment.
    static let sandbox = ScreeningRule { subject in
        subject.environment != subject.app.environment
    }
}
