import Foundation
import TestSupport
import Testing

@testable import IAPReconcile

/// What `--help` prints, whole: of the program and of each command.
@Suite struct HelpTests {
    @Test func theHelpIsThisText() {
        #expect(Help.text == Self.text)
    }

    @Test func aCommandsHelpIsOfThatCommand() async throws {
        for option in ["--help", "-h"] {
            let ended = try await ChildProcess.run(ProgramNight.program, ["report", option])
            #expect(ended.status == 0 && ended.errors == "")
            #expect(
                ended.output == """
                    Usage: iap-reconcile report [options]

                      report                 write the latest run's report again
                          --run N            if that is run N
                          --report-dir DIR   below DIR

                    Options of every command:
                      --config FILE          the configuration (default /etc/iap-reconcile/iap-reconcile.conf)
                      --log-format FORMAT    text or json
                      --quiet                only warnings and errors on standard error
                      --verbose              everything, and the time that each stage took
                      --help, -h             this text
                      --version              the program's version

                    See iap-reconcile --help for all commands, and man iap-reconcile.

                    """)
        }
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func eachCommandHasAHelpOfItsOwn(command: String) throws {
        guard case .help(let form?) = try Invocation(arguments: [command, "--help"]).command else {
            Issue.record("no help")
            return
        }
        #expect(form.name == command)
        #expect(Help.text(of: form).hasPrefix("Usage: iap-reconcile \(command)"))
    }

    @Test func noLineIsWiderThanATerminalMayBe() {
        #expect(Help.text.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }

    private static let text = """
        Usage: iap-reconcile COMMAND [options]

        Finds App Store purchases that were paid and never delivered.

        Commands:
          run                    the nightly job: verify what waits in the inbox, report likely lost orders
              --dry-run          verify and report, write nothing to the database
              --limit N          try N receipts, and those with the last one's payload
              --report-dir DIR   write the report below DIR
              --now TIMESTAMP    take this earlier moment for the present, such as 2026-11-21T03:00:00Z
              --replay           or any, in a database for replays
          report                 write the latest run's report again
              --run N            if that is run N
              --report-dir DIR   below DIR
          history                list the runs with what they found: open cases, new ones, closed ones, the money paid
              --days N           of N days up to the latest run (default 30)
              --json             as JSON
          diff RUN RUN           say which cases a later run has opened, closed or judged otherwise than an earlier one,
                                 and why
              --json             as JSON
          check ID               say what is known of a transaction id, an invoice's order id (M…), an own order id
                                 or a user id, the verdict last
              --json             as JSON
          resolve ID             end the case of transaction ID, or take that back
              --delivered        it was delivered by hand: --user USER, --order ORDER
              --unknown-user     although nobody has heard of USER
              --deliver          the app's server shall deliver it, without the customer
              --dismissed        nothing is owed after all
              --refunded         the money went back
              --reopen           an earlier resolve was wrong: it is owed again
              --by WHO           who decides
              --note TEXT        why
              --app BUNDLE       in this app, --environment production or sandbox, where several know ID
              --file FILE        or carry out all that a report's spreadsheet decides, .xlsx or .csv: --result FILE, --dry-run
          adopt ID               take a purchase of which no receipt came into the ledger, by what Apple says of a
                                 transaction id or of an invoice's order id (M…)
              --user USER        whose it is
              --by WHO           who decides
              --note TEXT        why
              --app BUNDLE       ask for this app alone
          take ID                say that you are on the case of transaction ID; after a day it is free again
              --by WHO           who decides
              --free             nobody is on it any more
              --app BUNDLE       in this app, --environment production or sandbox, where several know ID
          note ID                write a comment on transaction ID, which the report and check show
              --by WHO           who decides
              --note TEXT        why
              --app BUNDLE       in this app, --environment production or sandbox, where several know ID
          verify                 look at what must always hold of the tables, the trail's chain included
              --since END        and that the chain continues an end that was kept
              --json             as JSON
          purge                  take away what [retention] keeps no longer: payloads, devices, orders never paid
              --dry-run          only say how many
          erase USER             erase a person's data: amounts and Apple's ids stay; connects best as role iap_privacy
              --by WHO           who erases
              --even-open        although something is paid and not delivered
              --dry-run          do everything and roll it back
          setup                  make all that the job needs, step by step, each said before it is done: database, schema,
                                 roles, logins, configuration; what is there stays
              --database NAME    the database, or how its owner reaches it (a conninfo)
              --login HOW        how the job logs in: by its system user (peer), or by passwords made here (password)
              --run-as USER      the system user of the job (default iap-reconcile)
              --app BUNDLE       an app, verified by what is given of the following
              --secret-file FILE its shared secret
              --key-file FILE    its key for the App Store Server API: --key-id ID, --issuer-id ID
              --from TIMESTAMP   from when on its server says what it delivers; what was bought before is let be
              --enable-timer     let systemd run the job each night
              --yes              ask nothing
              --dry-run          only say what would be done
          migrate                bring the database's schema up to date
              --print            show the SQL instead
              --rehearsal        make a database for replays of it, in which no customer's purchase belongs
          import KIND FILE       take over a company's own history: receipts, orders, delivered, entitlements or
                                 products, as CSV or JSON Lines; - is standard input; best as role iap_import
              --format FORMAT    csv or jsonl, where neither the file's name nor its first byte tells
              --refused FILE     write the lines that are not taken, with the reasons, as CSV
              --dry-run          do everything and roll it back
          notices FILE...        verify notifications of Apple's that an app's server kept, a signedPayload a line, and
                                 hand them to the next run; - is standard input
          sales FILE...          read Apple's daily sales reports (Summary Sales, TSV, gzipped or not), and compare what
                                 was sold with what the tables saw; - is standard input
              --refused FILE     write the lines that are not taken, with the reasons, as CSV
          statement MONTH        print what was owed, came, was delivered, refunded and is owed in a month such as 2026-10,
                                 with what Apple sold beside it, and by which purchases they differ
              --app BUNDLE       of this app alone
              --format FORMAT    csv, xlsx or json
              --as-of DAY        through this day of the month, as it was known then
          products --suggest     print the rows that iap.products lacks a price for, to be filled in and imported
          doctor                 check configuration, database, grants, Apple and report directory
              --tell             send a test by mail and webhook as well
              --json             as JSON
          inspect FILE...        say what receipts, signed transactions or answers of verifyReceipt hold, and
                                 whether their signatures are Apple's; - is standard input; needs no configuration
              --trust-root FILE  trust the certificates of this file, PEM or DER, as well
          completion SHELL       print what makes bash, zsh or fish complete commands and options; needs no configuration

        Options of every command:
          --config FILE          the configuration (default /etc/iap-reconcile/iap-reconcile.conf)
          --log-format FORMAT    text or json
          --quiet                only warnings and errors on standard error
          --verbose              everything, and the time that each stage took
          --help, -h             this text
          --version              the program's version

        Exit codes: 0 everything due was tried; 64 usage; 65 what was asked for is not there,
        can't be read or is not valid, or lines of a file were refused;
        69 database or Apple unavailable; 70 internal error, or tables that don't hold together;
        75 ended early, the rest stays in the inbox; 77 permission; 78 configuration.
        See man iap-reconcile.

        """
}
