#!/usr/bin/env python3
"""What the alerts and the dashboard ask for is what the program writes; and the alerts do what they say."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
folder = root / "monitoring"
source = "".join(
    path.read_text() for path in sorted((root / "Sources/Notifications/Metrics").glob("*.swift")))
names = set(re.findall(r'MetricFamily\(\s*"([a-z_]+)"', source)) | set(re.findall(r'static let \w+ = "([a-z]+_[a-z_]+)"', source))

problems = []
used = {}
for path in sorted(folder.iterdir()):
    for name in re.findall(r"\biap_reconcile_([a-z_]+)", path.read_text()):
        used.setdefault(name, path.name)
for name, file in used.items():
    if name not in names:
        problems.append(f"{file}: the program writes no iap_reconcile_{name}")
# The alerts that the tests of the rules make up are those that the program tells of.
figures = set(re.findall(
    r'case \.\w+: "([a-z_]+)"', (root / "Sources/Reconciliation/Report/WatchedFigure.swift").read_text()))
for alert in re.findall(r'alert="([^"]*)"', (folder / "iap-reconcile.rules.test.yml").read_text()):
    if alert not in figures:
        problems.append(f"iap-reconcile.rules.test.yml: the program writes no alert {alert}")
if not used:
    problems.append("nothing is asked for")

dashboard = json.loads((folder / "grafana.json").read_text())
places = [panel["gridPos"] for panel in dashboard["panels"]]
for panel in dashboard["panels"]:
    place = panel["gridPos"]
    if place["x"] + place["w"] > 24:
        problems.append(f"grafana.json: {panel['title']} stands beyond the edge")
    if not panel["targets"]:
        problems.append(f"grafana.json: {panel['title']} shows nothing")
if len({panel["id"] for panel in dashboard["panels"]}) != len(places):
    problems.append("grafana.json: two panels have one id")

if shutil.which("promtool"):
    ran = subprocess.run(
        ["promtool", "test", "rules", "iap-reconcile.rules.test.yml"], cwd=folder, capture_output=True, text=True)
    if ran.returncode:
        problems.append(ran.stdout + ran.stderr)
else:
    print("Monitoring: promtool is not installed, the alerts themselves are not tried", file=sys.stderr)

for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(1 if problems else 0)
