extension ScreeningRule {
    /// The receipt belongs to another app. An answer that names no bundle id can't be held against it.
    static let foreignBundle = ScreeningRule { subject in
        subject.foundBundleID.map { $0 != subject.app.bundleID } ?? false
    }
}
