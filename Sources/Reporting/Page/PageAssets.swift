/// The page's style and script, from the files in the folder Assets, and the hashes by which a page's
/// Content-Security-Policy allows only these.
enum PageAssets {
    static let style = String(decoding: PackageResources.report_css, as: UTF8.self)
    static let script = String(decoding: PackageResources.report_js, as: UTF8.self)

    /// Hashes of the files, byte for byte; a test recomputes them.
    static let styleHash = "sha256-JJgnQq//2u9qp4ox73VlnA+EpwmSoqZlZZSBIjkHAOk="
    static let scriptHash = "sha256-FxcSKH76AS4RIXwSW194MMb3qrlqDlhWxeZkN6d/syY="

    static let policy =
        "default-src 'none'; style-src '\(styleHash)'; script-src '\(scriptHash)'; base-uri 'none'; form-action 'none'"
}
