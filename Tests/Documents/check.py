#!/usr/bin/env python3
"""Holds the documents to the truth: links lead somewhere, files that are named are there, the README stays short, and
what is to be made can be made. Prints a line for each fault, and ends with 1 where there is one.

    Tests/Documents/check.py [FOLDER]     the repository's root by default
"""

import re
import subprocess
import sys
from pathlib import Path

README_LINES = 200


def documents(root):
    """Every Markdown file that the repository has, or is about to have."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=root, check=True, capture_output=True, text=True).stdout.split()
    return [root / name for name in listed if (root / name).exists()]


def without_code(text):
    """The text with as many lines, but without what stands in fences."""
    return re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)


def anchors(text):
    """The anchors of a document's headings, as forges make them."""
    found = {}
    for heading in re.findall(r"^#+ +(.+)$", without_code(text), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        number = found.get(anchor, 0)
        found[anchor] = number + 1
        if number:
            found[f"{anchor}-{number}"] = 1
    return set(found)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def dead_links(document, text):
    # A link may be broken over two lines; what stands between backticks is none.
    plain = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), without_code(text))
    for link in re.finditer(r"\]\(\s*([^)\s]+)\s*\)", plain):
        target, _, anchor = link[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = document if not target else document.parent / target
        if not file.exists():
            yield line_of(plain, link.start()), f"no file {target}"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield line_of(plain, link.start()), f"no heading #{anchor} in {file.name}"


def missing_files(root, text):
    """Paths between backticks. NAME and NNNN stand for what a reader chooses: a neighbour must be there."""
    plain = without_code(text)
    for span in re.finditer(r"`([^`\n]+)`", plain):
        path = span[1]
        if not re.fullmatch(r"[\w.+-]+(/[\w.+-]+)*/?", path):
            continue
        if "/" not in path and not re.search(r"\.(swift|sql|sh|py|md|css|js|json|txt|example|8)$", path):
            continue
        if path in ("summary.txt", "report.json", "figures.json", "index.html"):
            continue
        if not list(root.glob(re.sub(r"NAME|NNNN", "*", path.rstrip("/")))):
            yield line_of(plain, span.start()), f"no file {path}"


def workflows(root):
    return sorted((root / ".github/workflows").glob("*.yml"))


def unknown_targets(text, targets):
    # What is to be typed: between backticks, or on a line that is set as code. In fences, lines are moved in first.
    code = re.sub(
        r"^```.*?^```", lambda match: match[0].replace("\n", "\n    "), text, flags=re.M | re.S)
    for command in re.finditer(r"(?:`|^ {4,}(?:\$ |- run: )?)make ([a-z][\w-]*)", code, re.M):
        if command[1] not in targets:
            yield line_of(code, command.start(1)), f"the Makefile has no target {command[1]}"


def main(root):
    targets = set(re.findall(r"^([a-z][\w-]*):", (root / "Makefile").read_text(encoding="utf-8"), re.M))
    faults = []
    for document in workflows(root):
        name, text = document.relative_to(root), document.read_text(encoding="utf-8")
        faults += [f"{name}:{line}: {fault}" for line, fault in unknown_targets(text, targets)]
    for document in documents(root):
        text = document.read_text(encoding="utf-8")
        name = document.relative_to(root)
        found = list(dead_links(document, text)) + list(unknown_targets(text, targets))
        if str(name) in ("docs/architecture.md", "CONTRIBUTING.md", "SECURITY.md"):
            found += missing_files(root, text)
        lines = len(text.splitlines())
        if str(name) == "README.md" and lines >= README_LINES:
            found.append((lines, f"has {lines} lines: fewer than {README_LINES} are read"))
        faults += [f"{name}:{line}: {fault}" for line, fault in sorted(found)]
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()))
