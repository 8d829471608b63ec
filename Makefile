# The two commands that a newcomer needs are `make demo` and `make test`.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= .build/release
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
SWIFT_BUILD := scripts/with-swift swift build

.PHONY: demo play demo-stop world cluster chaos test fuzz bench lint install install-files program deb deb-reproduce tarball deb-test clean

# Builds everything, plays a world of customers against a private PostgreSQL and a simulated App Store, runs the job,
# leaves its report under .build/demo/reports/latest/, and prints lines to go on with: `make play` plays the next night.
# With KEEP=1 database and App Store go on running; `make demo-stop` ends both, and takes the demo's database away.
demo:
	@scripts/install-packages demo
	@KEEP="$(KEEP)" SEED="$(SEED)" CUSTOMERS="$(CUSTOMERS)" scripts/demo

play:
	@scripts/play

demo-stop:
	@scripts/demo-stop

# Night after night, beside the truth: `make world SEED=2 CUSTOMERS=20000 NIGHTS=30`. With KEYS=0 no app has a key for the
# App Store Server API, and the job knows only what receipts tell.
world:
	@scripts/install-packages demo
	@SEED="$(SEED)" CUSTOMERS="$(CUSTOMERS)" NIGHTS="$(NIGHTS)" KEYS="$(KEYS)" REDELIVER="$(REDELIVER)" scripts/world

# The job on a cluster of PostgreSQL with Citus, beside the same on plain PostgreSQL: `make cluster SEED=2 CUSTOMERS=2000
# NIGHTS=10`. With POINTS=20 each of its faults at so many points, and nothing else. Wants a PostgreSQL that has Citus.
cluster:
	@scripts/install-packages test
	@SEED="$(SEED)" CUSTOMERS="$(CUSTOMERS)" NIGHTS="$(NIGHTS)" POINTS="$(POINTS)" Tests/Cluster/run.sh

# The job under fire, each time compared with an undisturbed night: `make chaos SEED=1 POINTS=200`. SCENARIO=name and
# POINT=number play one of them.
chaos:
	@scripts/install-packages chaos
	@SEED="$(SEED)" POINTS="$(POINTS)" SCENARIO="$(SCENARIO)" POINT="$(POINT)" scripts/chaos

# Every test: Swift, SQL, formatting. PG=16 takes another version of PostgreSQL, which its packages must bring; PG=/folder
# the programs in a folder.
test:
	@IAP_POSTGRESQL="$(PG)" scripts/install-packages test
	@IAP_POSTGRESQL="$(PG)" scripts/test

# What strangers write, made up by libFuzzer under the address sanitizer: `make fuzz FUZZ=jws RUNS=10000000 SEED=2`.
# INPUT=file gives a decoder one input again.
fuzz:
	@scripts/install-packages build
	@FUZZ="$(FUZZ)" RUNS="$(RUNS)" SEED="$(SEED)" INPUT="$(INPUT)" scripts/fuzz

# The benchmarks, each beside a limit taken in the same run: a table, and .build/bench/results.json.
# BENCH=name runs one of them; BENCH=cluster nights on a cluster beside plain PostgreSQL, where Citus is
# installed; BENCH=peers PEERS=FILE plays nights beside other programs by a script.
bench:
	@scripts/install-packages bench
	@PEERS="$(PEERS)" PEERS_OPTIONS="$(PEERS_OPTIONS)" scripts/bench $(BENCH)

lint:
	@scripts/with-swift swift format lint --strict -r Sources Tests Package.swift

# The program is stripped, with its symbols beside it; what names a path names that of PREFIX.
install: program install-files
	objcopy --only-keep-debug "$(DESTDIR)$(PREFIX)/bin/iap-reconcile" "$(DESTDIR)$(PREFIX)/bin/iap-reconcile.debug"
	chmod 644 "$(DESTDIR)$(PREFIX)/bin/iap-reconcile.debug"
	cd "$(DESTDIR)$(PREFIX)/bin" && objcopy --strip-all --add-gnu-debuglink=iap-reconcile.debug iap-reconcile

# Swift's own libraries are linked in. The compiler is itself written in Swift, whose hashing it seeds anew in each process:
# the same seed gives the same bytes.
program:
	@scripts/install-packages build
	SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT_BUILD) -c release --static-swift-stdlib --product iap-reconcile

# Whoever builds may have any umask; everyone may read what is installed.
install-files:
	install -D -m 755 $(BUILD)/iap-reconcile "$(DESTDIR)$(PREFIX)/bin/iap-reconcile"
	install -d "$(DESTDIR)$(PREFIX)/share/iap-reconcile/sql/migrations" "$(DESTDIR)$(PREFIX)/share/iap-reconcile/cron"
	install -m 644 sql/*.sql "$(DESTDIR)$(PREFIX)/share/iap-reconcile/sql/"
	cp -R sql/migrations/. "$(DESTDIR)$(PREFIX)/share/iap-reconcile/sql/migrations/"
	chmod -R u=rwX,go=rX "$(DESTDIR)$(PREFIX)/share/iap-reconcile/sql/migrations"
	install -m 644 cron/* "$(DESTDIR)$(PREFIX)/share/iap-reconcile/cron/"
	install -m 644 docs/report.schema.json "$(DESTDIR)$(PREFIX)/share/iap-reconcile/"
	install -D -m 644 docs/iap-reconcile.8 "$(DESTDIR)$(PREFIX)/share/man/man8/iap-reconcile.8"
	install -d "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" "$(DESTDIR)$(ZSH_COMPLETIONS)" \
	    "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d"
	umask 022; $(BUILD)/iap-reconcile completion bash \
	    > "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/iap-reconcile"
	umask 022; $(BUILD)/iap-reconcile completion zsh > "$(DESTDIR)$(ZSH_COMPLETIONS)/_iap-reconcile"
	umask 022; $(BUILD)/iap-reconcile completion fish \
	    > "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/iap-reconcile.fish"
	sed -i 's,/usr/local/,$(PREFIX)/,g; s,/usr/local\b,$(PREFIX),g' "$(DESTDIR)$(PREFIX)"/share/iap-reconcile/cron/* \
	    "$(DESTDIR)$(PREFIX)/share/man/man8/iap-reconcile.8"

# A Debian package, under .build/deb. It is built from what is committed.
deb:
	@scripts/install-packages deb
	@scripts/deb

# The package built twice, from nothing each time: the same bytes, or what differs.
deb-reproduce:
	@scripts/install-packages deb
	@scripts/deb-reproduce

# What the package installs, for other Linuxes, with install.sh: an archive under .build/tarball.
tarball: program
	@scripts/tarball

# The package in a root of its own, as an operator would: installed, a night, upgraded, removed, purged.
deb-test: deb
	@Tests/Deb/run.sh

clean:
	@scripts/demo-stop --quiet
	rm -rf .build
