#!/usr/bin/env python3
"""Every dependency that Package.swift declares is imported by some file of its target, and every import is declared."""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMPORT = re.compile(
    r"^(?:@\w+ )*(?:(?:public|package|internal|private|fileprivate) )?import "
    r"(?:(?:struct|class|enum|func|protocol|typealias|var|let) )?(\w+)", re.M)
# The helper `tests` of Package.swift gives it to every room's tests.
FOR_ALL_TESTS = {"TestSupport"}


def problems(package):
    own = {target["name"] for target in package["targets"]}
    for target in package["targets"]:
        folder = ROOT / (target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}")
        files = list(folder.rglob("*.swift"))
        if not files:
            continue
        declared = {next(iter(dependency.values()))[0] for dependency in target["dependencies"]}
        imported = {name for file in files for name in IMPORT.findall(file.read_text())}
        spared = FOR_ALL_TESTS if target["type"] == "test" else set()
        for name in sorted(declared - imported - spared):
            yield f"Package.swift: {target['name']} depends on {name} and imports it nowhere"
        for name in sorted((imported & own) - declared - {target["name"]}):
            yield f"Package.swift: {target['name']} imports {name} and does not depend on it"


dumped = subprocess.run(
    ["scripts/with-swift", "swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True)
found = list(problems(json.loads(dumped.stdout)))
print("\n".join(found), end="\n" if found else "", file=sys.stderr)
sys.exit(1 if found else 0)
