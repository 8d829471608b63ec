/// The page's style and script, from the files in the folder Assets, and the hashes by which a page's
/// Content-Security-Policy allows only these.
enum PageAssets {
    static let style = String(decoding: PackageResources.report_css, as: UTF8.self)
    static let script = String(decoding: PackageResources.report_js, as: UTF8.self)

    /// Hashes of the files, byte for byte; a test recomputes them.
    static let styleHash = "sha256-r/4oyuHCJedcgPDIC2OtkJvBFIDCByeq+LmGjylXj/w="
    static let scriptHash = "sha256-MZKra1epH/WifsHwL8OjRE39CSbW3acaIwPIMkYkWFg="

    static let policy =
        "default-src 'none'; style-src '\(styleHash)'; script-src '\(scriptHash)'; base-uri 'none'; form-action 'none'"
}
