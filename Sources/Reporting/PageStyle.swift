/// The page's style, and the hash by which the page's Content-Security-Policy lets it, and nothing else, in.
enum PageStyle {
    /// Of `css` exactly as it stands between the tags; a test reckons it anew.
    static let hash = "sha256-KSQnsS+s2fhws/VUit1WVtGTtA5aqkAwKlNHeONyLN4="

    static let css = """
        :root{color-scheme:light dark;--ground:#fbfaf7;--card:#fff;--ink:#1d1d1f;--soft:#5c5c62;--line:#e2dfd8;\
        --high:#a11212;--high-ground:#fde8e6;--medium:#7a4a00;--medium-ground:#fdf0d5;--low:#2b4a6f;\
        --low-ground:#e4eefa;--accent:#0b57a4}
        @media(prefers-color-scheme:dark){:root{--ground:#17171a;--card:#212125;--ink:#f1f0ee;--soft:#b0afb5;\
        --line:#3a3a40;--high:#ffb3ab;--high-ground:#4a1a18;--medium:#ffd48a;--medium-ground:#47330f;\
        --low:#b5d3f7;--low-ground:#1d3350;--accent:#8cc2ff}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:84rem;padding:2rem 1.25rem 4rem;background:var(--ground);color:var(--ink);\
        font:1rem/1.5 system-ui,-apple-system,"Segoe UI","PingFang SC","Noto Sans CJK SC",sans-serif}
        h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2.5rem 0 .75rem}
        .soft{color:var(--soft)}.early{border-left:.3rem solid var(--medium);padding:.5rem .75rem;\
        background:var(--medium-ground);color:var(--medium);border-radius:.3rem}
        .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.9rem;margin:1.5rem 0}
        .card{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:1rem 1.1rem}
        .card b{display:block;font-size:1.7rem;line-height:1.2;font-variant-numeric:tabular-nums}
        .card span{color:var(--soft);font-size:.9rem}
        .scroll{overflow-x:auto;border:1px solid var(--line);border-radius:.7rem;background:var(--card)}
        table{border-collapse:collapse;width:100%;font-size:.92rem}
        caption{text-align:left;padding:.75rem 1rem;color:var(--soft)}
        th,td{text-align:left;vertical-align:top;padding:.6rem .8rem;border-top:1px solid var(--line)}
        thead th{border-top:0;color:var(--soft);font-weight:600;white-space:nowrap}
        td{overflow-wrap:anywhere;min-width:7rem}td.figure,th.figure{text-align:right;font-variant-numeric:tabular-nums;min-width:0}
        code{font:.92em ui-monospace,SFMono-Regular,Menlo,monospace}
        .badge{display:inline-block;padding:.1rem .6rem;border-radius:1rem;font-weight:600;font-size:.85rem}
        .high{background:var(--high-ground);color:var(--high)}.medium{background:var(--medium-ground);color:var(--medium)}
        .low{background:var(--low-ground);color:var(--low)}.new{background:var(--low-ground);color:var(--accent)}
        summary{cursor:pointer;color:var(--accent)}summary:focus-visible{outline:.2rem solid var(--accent);outline-offset:.15rem}
        details ul{margin:.4rem 0;padding-left:1.2rem}
        @media(max-width:40rem){thead{position:absolute;left:-999rem}tr{display:block;border-top:1px solid var(--line);\
        padding:.5rem 0}td{display:block;border:0;padding:.2rem .9rem}td.figure{text-align:left}\
        td[data-label]::before{content:attr(data-label) ": ";color:var(--soft)}}
        @media print{body{max-width:none;padding:0;background:#fff;color:#000}.scroll{overflow:visible}}
        """
}
