#!/bin/sh
# The report in a real browser, from a disk, as a reader opens it. The reports under test are written by our own code.
set -eu
cd "$(dirname "$0")/../.."

# Ubuntu has it as a snap alone, which a container can't run.
if [ ! -x /usr/bin/chromedriver ] && grep -qx ID=ubuntu /etc/os-release; then
    echo "Browser: skipped, there is no Chromium" >&2
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A report of so many cases, in a language, in a folder of its own.
write_report() {
    IAP_REPORT_SAMPLE="$scratch/$1" IAP_REPORT_SAMPLE_CASES="$2" IAP_REPORT_SAMPLE_LANGUAGE="$3" \
        scripts/with-swift swift test --skip-build --filter '^ReportingTests\.SampleReport/' >"$scratch/log" 2>&1 ||
        { cat "$scratch/log" >&2; exit 1; }
}

# axe looks for what keeps people with disabilities from the page. From PyPI: this very file, or none.
axe=".build/axe"
wheel="$axe/axe_core_python-0.1.0-py3-none-any.whl"
if [ ! -e "$wheel" ]; then
    mkdir -p "$axe"
    /usr/bin/python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
        --dest "$axe" --requirement Tests/Browser/requirements.txt
fi

scripts/with-swift swift build --build-tests
write_report english 450 en
write_report chinese 20 zh
write_report many 60000 en
write_report none 0 en
write_report one 1 en
IAP_REPORT_SAMPLE_CUSTOMERS=1 write_report customers 450 en
IAP_REPORT_SAMPLE_HOSTILE=1 write_report hostile 39 en

IAP_REPORT_SAMPLES="$scratch" IAP_AXE="$wheel" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m unittest discover -s Tests/Browser -p '*_test.py' "$@"
