#!/bin/sh
# Installs iap-reconcile below /usr/local, with its user, folders and units, and changes no configuration that is there:
# ./install.sh, as root. ./install.sh --uninstall takes the program away and leaves configuration, reports and logs.
set -eu
cd "$(dirname "$0")"
[ "$(id -u)" -eq 0 ] || { echo "Run it as root." >&2; exit 77; }
units=/etc/systemd/system

case "${1:-}" in
--uninstall)
    if command -v systemctl >/dev/null; then systemctl disable --now iap-reconcile.timer >/dev/null 2>&1 || true; fi
    rm -f "$units/iap-reconcile.service" "$units/iap-reconcile.timer" /etc/logrotate.d/iap-reconcile
    (cd local && find . ! -type d) | while read -r file; do rm -f "/usr/local/$file"; done
    rm -rf /usr/local/share/iap-reconcile
    echo "Configuration, reports and logs stay: /etc/iap-reconcile, /var/lib/iap-reconcile, /var/log/iap-reconcile."
    exit 0
    ;;
"") ;;
*)
    echo "usage: install.sh [--uninstall]" >&2
    exit 64
    ;;
esac

missing=$(ldd local/bin/iap-reconcile | sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p')
[ -z "$missing" ] || { echo "Install the packages that have these libraries first: $missing" >&2; exit 69; }
# A program that is running can't be written over, and its user must be able to start it, whatever root's umask.
rm -f /usr/local/bin/iap-reconcile
(umask 022 && cp -R local/. /usr/local/)
id iap-reconcile >/dev/null 2>&1 ||
    useradd --system --user-group --home-dir /var/lib/iap-reconcile --no-create-home --shell /usr/sbin/nologin iap-reconcile
install -d -m 750 -o root -g iap-reconcile /etc/iap-reconcile
install -d -m 750 -o iap-reconcile -g iap-reconcile /var/lib/iap-reconcile /var/lib/iap-reconcile/reports \
    /var/log/iap-reconcile
conf=/etc/iap-reconcile/iap-reconcile.conf
[ -e "$conf" ] ||
    install -m 640 -o root -g iap-reconcile /usr/local/share/iap-reconcile/cron/iap-reconcile.conf.example "$conf"
if [ -d "$units" ]; then
    install -m 644 /usr/local/share/iap-reconcile/cron/iap-reconcile.service \
        /usr/local/share/iap-reconcile/cron/iap-reconcile.timer "$units/"
fi
if [ -d /etc/logrotate.d ]; then
    install -m 644 /usr/local/share/iap-reconcile/cron/iap-reconcile.logrotate /etc/logrotate.d/iap-reconcile
fi
/usr/local/bin/iap-reconcile --version
echo "Next: iap-reconcile setup, which makes what the job needs step by step (with --dry-run it only says what)."
echo "docs/operate.md has the rest. The configuration is $conf; the timer is off."
