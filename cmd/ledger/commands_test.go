package main

import (
	"fmt"
	"strings"
	"testing"

	"ledger.example/tests/system"
)

// step is a command line, its exit code, and what it prints: to standard output, or to standard error if it fails.
type step struct {
	line string
	code int
	says []string
}

// take runs command lines on a ledger, one after the other. It waits for the projection before each. Words are
// separated by single spaces.
func take(t *testing.T, s *system.System, steps []step) {
	t.Helper()
	for _, c := range steps {
		s.Project()
		code, out, problems := ledger(t, s.URL, strings.Split(c.line, " ")...)
		said := out
		if c.code != exitDone {
			said = problems
		}
		if code != c.code || c.code != exitDone && out != "" {
			t.Errorf("ledger %s: exit %d, want %d\n%s%s", c.line, code, c.code, out, problems)
		}
		// Tables pad cells with spaces.
		for _, want := range c.says {
			if !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
				t.Errorf("ledger %s: %q is missing in\n%s", c.line, want, said)
			}
		}
	}
}

// newLedger returns a complete ledger for a parallel test, in which jane has 3,500.00 USD and 10 AAPL.
func newLedger(t *testing.T) *system.System {
	t.Helper()
	t.Parallel()
	s := system.New(t, system.Pumped, system.Indexed("order"))
	s.OpenBooks()
	return s
}

// Holds are placed, captured, released and reversed, with amounts in decimals. Refusals have decimals too, and change
// nothing.
func TestHoldsAndReversals(t *testing.T) {
	take(t, newLedger(t), []step{
		{"account open hotel --name Hotel", 0, []string{"Account hotel", "State open", "Version 1"}},
		{"account open hotel --name Hotel", 0, []string{"Version 1"}},
		{"account open hotel --name Other", 1, []string{"account_exists"}},

		{"transfer jane hotel 400 USD --hold --expires 3d --id stay-7", 0, []string{"Status held", "Expires at", "-400.00"}},
		{"transfer jane hotel 400 USD --hold --expires 2020-01-31 --id late", 1, []string{"hold.expires_at"}},
		{"transfer jane hotel 3100.01 USD", 1, []string{"jane has 3100.00 of USD available, and 3100.01 were requested"}},
		{"transfer jane hotel 10000000 USD --minor", 1, []string{"jane has 310000 of USD available, and 10000000 were requested (minor units)"}},
		{"hold jane", 0, []string{"UNTIL (UTC)", "stay-7 held USD -400.00"}},
		{"hold jane --json", 0, []string{`"status":"held"`}},
		{"hold --id stay-7", 0, []string{"Status held"}},
		{"show jane", 0, []string{"State open", "AVAILABLE", "3100.00", "PENDING DEBITS", "400.00"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00", "Pending debits 400.00", "Pending credits 0.00", "Available 3100.00"}},
		{"capture stay-7 312.50 --dry-run", 0, []string{"Status captured", "jane USD -312.50"}},
		{"release stay-7 --dry-run", 0, []string{"Status released"}},
		{"capture stay-7 400.01 --dry-run", 1, []string{"exceeds_hold"}},
		{"transfer jane hotel 1 USD --hold --dry-run", 0, []string{"Status held"}},
		{"transfer jane hotel 3100.01 USD --dry-run", 1, []string{"jane has 3100.00 of USD available"}},
		{"reverse t-1 2 --cost 300 --dry-run", 0, []string{"Kind reversal", "jane AAPL -2 -300.00 USD"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00", "Pending debits 400.00"}},
		{"capture stay-7 400.01", 1, []string{"exceeds_hold", "quantity: must not exceed 400.00"}},
		{"capture stay-7 40001 --minor", 1, []string{"must not exceed 40000 (minor units)"}},
		{"reverse t-1 2 --cost 1500.01", 1, []string{"cost: must not exceed 1500.00 USD"}},
		{"post --debit jane:USD:5 --credit hotel:USD:4", 1, []string{"the quantities of USD must sum to 0, not to -1.00"}},
		{"capture stay-7 400.005", 2, []string{"3 decimal places"}},
		{"capture stay-7 0", 1, []string{"nothing_captured"}},
		{"capture stay-7 1 --cost 1", 1, []string{"invalid_transaction"}},
		{"capture stay-8", 1, []string{"transaction_not_found"}},
		{"capture d-1", 1, []string{"not_a_hold"}},
		{"capture stay-7 312.50", 0, []string{"Status captured", "Ended at", "Captured", "jane USD -312.50"}},
		{"capture stay-7 312.50", 0, []string{"Status captured"}},
		{"capture stay-7", 1, []string{"hold_ended"}},
		{"release stay-7", 1, []string{"hold_ended"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3187.50", "Pending debits 0.00", "Available 3187.50"}},
		{"history jane --asset USD --strong", 0, []string{"PENDING", "stay-7 (transfer, captured) USD -312.50 - 400.00",
			"stay-7 (transfer, held) USD 0.00 - -400.00"}},
		{"history jane --asset USD --csv", 0, []string{",pending,status ", ",-312.50,0,,,400.00,captured "}},

		{"trade jane market 4 AAPL 600 --settle --hold --id t-2", 0,
			[]string{"Status held"}},
		{"release t-2 --description Cancelled", 0, []string{"Status released", "Why it ended Cancelled"}},
		{"release t-2", 0, []string{"Status released"}},
		{"reverse t-2 --id r-0", 1, []string{"nothing_to_reverse"}},
		{"reverse stay-7 312.51 --id r-1", 1, []string{"exceeds_reversible", "left: -312.50 of USD at jane"}},
		{"reverse stay-7 12.50 --id r-1", 0, []string{"Kind reversal", "Reverses stay-7", "jane USD 12.50"}},
		{"reverse t-1 2 --cost 300 --id r-2", 0, []string{"jane AAPL -2 -300.00 USD", "jane USD 300.00"}},
		{"transaction stay-7", 0, []string{"Reversed ACCOUNT ASSET QUANTITY COST jane USD -12.50"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00"}},
		{"hold jane --status captured --all", 0, []string{"stay-7 captured USD -400.00"}},
		{"transfer jane hotel 1 USD --hold --expires 1h --id open-1", 0, []string{"held"}},
		{"hold --limit 1", 0, []string{"open-1 jane USD -1.00"}},
		{"hold hotel --status held", 0, []string{"open-1 held USD 1.00"}},
	})
}

// Assets are registered, and accounts opened, changed, frozen and closed.
func TestAssetsAndAccounts(t *testing.T) {
	take(t, newLedger(t), []step{
		{"asset add EUR --name Euro --scale 2", 0, []string{"EUR Euro 2 -"}},
		{"asset list", 0, []string{"AAPL Apple Inc. 0 USD Common stock", "USD US dollar 2 -"}},
		{"account", 0, []string{"unfreeze"}},
		{"account open margin --overdraft USD:50.00 --profile {\"desk\":7}", 0, []string{"Overdraft 50.00 USD", `Profile {"desk":7}`}},
		{"transfer margin bank 50 USD --id m-1", 0, nil},
		{"account change margin --name Margin --overdraft USD:75.00", 0, []string{"Name Margin", "Overdraft 75.00 USD", "Version 2"}},
		{"transfer margin bank 25 USD --id m-2", 0, nil},
		{"account change nobody --name x", 1, []string{"account_not_found"}},
		{"account change margin --name Other --if-version 1", 1, []string{"version_mismatch"}},
		{"account change margin --overdraft unlimited", 1, []string{"invalid_change"}},
		{"account change margin --overdraft EUR:1.005", 2, []string{"at most 2"}},
		{"account change margin --overdraft JPY:1", 1, []string{"asset_not_found"}},
		{"account freeze jane", 0, []string{"State frozen"}},
		{"transfer jane bank 1 USD", 1, []string{"account_frozen"}},
		{"account close jane", 1, []string{"invalid_change"}},
		{"account show jane", 0, []string{"Jane Doe", "State frozen", "Version 2"}},
		{"account show jane --json", 0, []string{`"version":2`}},
		{"account unfreeze jane", 0, []string{"State open"}},
		{"transfer jane bank 1 USD --id j-1", 0, nil},
		{"account open empty", 0, nil},
		{"account close empty", 0, []string{"State closed"}},
		{"account unfreeze empty", 1, []string{"invalid_change"}},
		{"account freeze nobody", 1, []string{"account_not_found"}},
		{"account show nobody", 1, []string{"account_not_found"}},
		{"account changes margin", 0, []string{"2 ", `name "Margin", overdraft 75.00 USD`, `overdraft 50.00 USD`}},
		{"account changes bank", 0, []string{`name "Bank", state open, overdraft unlimited`}},
		{"account list", 0, []string{"bank Bank open unlimited", "margin Margin open 1 asset"}},
		{"account list --prefix m --limit 1", 0, []string{"margin"}},
	})
}

// Accounts are in groups, and users have roles in groups and on accounts.
func TestGroupsAndMembers(t *testing.T) {
	take(t, newLedger(t), []step{
		{"group register desk --name Desk --description Trades", 0, []string{"Group desk", "Description Trades"}},
		{"group register clients", 0, []string{"Group clients"}},
		{"group show desk", 0, []string{"Description Trades", "Registered"}},
		{"group show desk --json", 0, []string{`"id":"desk"`}},
		{"group list --prefix d", 0, []string{"REGISTERED (UTC) desk Desk Trades"}},
		{"group add clients jane", 0, []string{"clients jane"}},
		{"group add desk jane", 0, []string{"clients jane", "desk jane"}},
		{"group add desk nobody", 1, []string{"account_not_found"}},
		{"group list --account jane", 0, []string{"clients jane", "desk jane"}},
		{"group accounts desk", 0, []string{"desk jane"}},
		{"transfer jane shop 1.25 USD --hold", 0, nil},
		{"group balances desk", 0, []string{"USD 3500.00", "USD 1.25 0.00"}},
		{"member grant u-17 operator --group desk", 0, []string{"u-17 operator - desk"}},
		{"member grant u-17 viewer --account jane", 0, []string{"u-17 viewer jane -"}},
		{"group members desk", 0, []string{"u-17 operator - desk"}},
		{"group list --of-user u-17", 0, []string{"u-17 operator - desk"}},
		{"member list --account jane", 0, []string{"u-17 viewer jane -"}},
		{"member list --group desk", 0, []string{"u-17 operator - desk"}},
		{"member list --of-user u-17", 0, []string{"jane viewer -", "jane operator desk"}},
		{"member revoke u-17 --group desk", 0, []string{"u-17 none - desk"}},
		{"member revoke u-17 --account jane", 0, []string{"u-17 none jane -"}},
		{"group remove desk jane", 0, []string{"GROUP ACCOUNT clients jane"}},
		{"group add desk", 2, []string{"expected GROUP ACCOUNT"}},
		{"member grant u-17 viewer", 2, []string{"at least one of the flags"}},
		{"member list", 2, []string{"at least one of the flags"}},
		{"member grant u-17 viewer --account a --group g", 2, []string{"[account group] were all set"}},
		{"group list --prefix d --account jane", 2, []string{"were all set"}},
	})
}

// A trial balance has all accounts with their sums. It is zero at the foot, at any time. The shell completes ids.
func TestTrialBalanceAndCompletion(t *testing.T) {
	take(t, newLedger(t), []step{
		{"transfer bank shop 10 USD --id b-1 --effective-at 2020-02-29T12:00:00Z", 0, nil},
		{"transfer shop jane 2 USD --id b-2 --effective-at 2020-03-01T12:00:00Z", 0, nil},
		{"trial-balance", 0, []string{"ACCOUNT ASSET DEBITS CREDITS BALANCE", "jane USD 1500.00 5002.00 3502.00", "shop USD 2.00 10.00 8.00", "Total AAPL 10 10 0", "Total USD"}},
		{"trial-balance --at 2020-02-29 --format csv", 0, []string{"account,asset,debits,credits,balance bank,USD,10.00,0.00,-10.00 shop,USD,0.00,10.00,10.00 ,USD,10.00,10.00,0.00"}},
		{"trial-balance --at 2020-02-28", 0, []string{"ACCOUNT ASSET DEBITS CREDITS BALANCE"}},
		{"trial-balance --prefix sh --at 2020-02-29 --json", 0, []string{`{"at":"2020-02-29T23:59:59.999999Z","settled":true,"data":[{"account":"shop","asset":"USD","debits":"0","credits":"1000","balance":"1000"}],"totals":[`}},
		{"trial-balance --prefix sh --at 2020-03-01 --minor", 0, []string{"shop USD 200 1000 800 Total USD 200 1000 800"}},
		{"group register desk --name Desk", 0, nil},
		{"group add desk jane", 0, nil},
		{"trial-balance --group desk --at 2020-03-01", 0, []string{"jane USD 0.00 2.00 2.00 Total USD"}},
		{"trial-balance --group none", 1, []string{"group_not_found"}},
		{"__complete transfer j", 0, []string{"jane Jane Doe"}},
		{"__complete transfer jane shop 1 U", 0, []string{"USD US dollar"}},
		{"__complete group show d", 0, []string{"desk Desk"}},
		{"__complete history jane --asset A", 0, []string{"AAPL Apple Inc."}},
	})
}

// The books are closed, opened again by an earlier closing, and listed.
func TestCloseBooks(t *testing.T) {
	take(t, newLedger(t), []step{
		{"close-books", 0, []string{"NUMBER CLOSED BEFORE (UTC) REASON"}},
		{"close-books --through 2020-03-31 --zone Europe/Berlin --reason audited", 0,
			[]string{"Number 1 Closed before 2020-03-31T22:00:00.000000Z Reason audited", "Final at"}},
		{"close-books --through 2020-03-31 --zone Europe/Berlin --reason audited", 0, []string{"Number 1 "}},
		{"transfer bank jane 1 USD --effective-at 2020-03-31T21:59:59Z", 1, []string{"period_closed", "effective_at: must not be before 2020-03-31T22:00:00.000000Z"}},
		{"transfer bank jane 1 USD --effective-at 2020-03-31T22:00:00Z --id p-1", 0, nil},
		{"statement jane USD --month 2020-03", 0, nil},
		{"close-books --before 2020-01-01T00:00:00Z --reason opened", 0, []string{"Number 2 "}},
		{"transfer bank jane 1 USD --effective-at 2020-03-31T21:59:59Z --id p-2", 0, nil},
		{"close-books", 0, []string{"2 2020-01-01 00:00:00 opened", "1 2020-03-31 22:00:00 audited"}},
		{"close-books --limit 1 --json", 0, []string{`"number":2`}},
		{"close-books --before 2020-01-01T00:00:00Z", 2, []string{"--reason is missing"}},
		{"close-books --reason audited", 2, []string{"--reason needs --before or --through"}},
		{"close-books --through 2020-01-01 --zone Nowhere --reason x", 2, []string{"--zone: unknown time zone Nowhere"}},
		{"close-books --before 2999-01-01T00:00:00Z --reason x", 1, []string{"invalid_period", "closed_before: must be at least 5 minutes ago"}},
	})
}

// Transactions are found by time and by indexed metadata.
func TestFind(t *testing.T) {
	const first = "2020-01-02 09:00:00 f-1 (transfer) A\uFFFD[31mbook bank USD -25.00 jane USD 25.00"
	take(t, newLedger(t), []step{
		{"transfer bank jane 25 USD --id f-1 --effective-at 2020-01-02T09:00:00Z --metadata order=10=01 --description A\x1b[31mbook", 0, nil},
		{"transfer bank jane 1 USD --id f-2 --effective-at 2020-01-02T10:00:00Z --metadata order=1", 0, nil},
		{"transfer bank jane 1 USD --id f-3 --effective-at 2020-01-03 --metadata order=1", 0, nil},
		{"transfer jane shop 25 USD --id f-4 --metadata order=2 --hold", 0, nil},
		{"capture f-4 20", 0, nil},
		{"find", 0, []string{"POSTED AT (UTC)", first, "f-4 (transfer, captured) jane USD -20.00 shop USD 20.00"}},
		{"find --metadata order=10=01", 0, []string{"QUANTITY " + first}},
		{"find --metadata order=2", 0, []string{"f-4 (transfer, captured) jane USD -20.00"}},
		{"find --day 2020-01-02 --oldest-first --all", 0, []string{first + " 2020-01-02 10:00:00 f-2"}},
		{"find --from 2020-01-03 --to 2020-01-03 --metadata order=1", 0, []string{"QUANTITY 2020-01-03 00:00:00 f-3"}},
		{"find --json", 0, []string{`"id":"f-1"`}},
		{"find --minor", 0, []string{"-2500"}},
		{"find --metadata colour=red", 1, []string{"invalid_request"}},
		{"find --metadata order", 2, []string{"KEY=VALUE"}},
		{"find --metadata =1", 2, []string{"KEY=VALUE"}},
		{"find --metadata order=", 2, []string{"KEY=VALUE"}},
		{"find --day today", 2, []string{"--day"}},
		{"find --day 2020-01-02 --from 2020-01-02", 2, []string{"[day from] were all set"}},
		{"find --from 2020-01-03 --to 2020-01-02", 2, []string{"--from must be earlier than --to"}},
		{"find x", 2, []string{"expected no arguments"}},
	})
}

// A statement of any number of pages begins and ends with a balance. Past balances agree with it.
func TestStatement(t *testing.T) {
	s := newLedger(t)
	const (
		posted  = "2020-03-02 10:00:00 s-2 (transfer) =1+1 -2.50 7.50 "
		columns = "line,posted_at,transaction,kind,posting,account,asset,quantity,cost,currency,description,pending,status,balance_after "
		march   = " --from=2020-03-01 --to=2020-03-31"
	)
	take(t, s, []step{
		{"transfer bank shop 10 USD --id s-1 --effective-at 2020-02-29T12:00:00Z", 0, nil},
		{"transfer shop bank 2.50 USD --id s-2 --effective-at 2020-03-02T10:00:00Z --description =1+1", 0, nil},
		{"transfer bank shop 0.25 USD --id s-3 --hold", 0, nil},
		{"statement shop USD --month=2020-03", 0, []string{"POSTED AT (UTC) TRANSACTION QUANTITY BALANCE " +
			"2020-03-01 00:00:00 Opening balance 10.00 " + posted +
			"2020-04-01 00:00:00 Closing balance 7.50 Total: 1 posting, 0.00 in, 2.50 out -2.50"}},
		{"statement shop USD --to=2999-01-01", 0, []string{"2020-02-29 12:00:00 Opening balance 0.00 ", " 0.00 7.50 "}},
		{"statement shop USD", 0, []string{"2020-02-29 12:00:00 Opening balance 0.00 ", "s-3 (transfer, held, pending 0.25) 0.00 7.50 "}},
		{"statement shop USD --csv" + march, 0, []string{columns + "opening,2020-03-01T00:00:00.000000Z,,,,shop,USD,,,,,,,10.00 " +
			"posting,2020-03-02T10:00:00.000000Z,s-2,transfer,", ",shop,USD,-2.50,0,,=1+1,0.00,posted,7.50 closing,2020-04-01T00:00:00.000000Z,,,,shop,USD,,,,,,,7.50"}},
		{"statement shop USD --csv --minor" + march, 0, []string{",shop,USD,-250,0,,=1+1,0,posted,750 closing,"}},
		{"statement shop USD --month=2020-03 --from=2020-03-01", 2, []string{"[from month] were all set"}},
		{"statement shop USD --month=2020-03 --to=2020-03-01", 2, []string{"[month to] were all set"}},
		{"statement shop USD --month=2020", 2, []string{"--month"}},
		{"statement shop USD --from=2020-04-01 --to=2020-03-01", 2, []string{"--from must be earlier than --to"}},
		{"statement shop USD --csv --json", 2, []string{"[csv json] were all set"}},
		{"statement shop USD --from=yesterday", 2, []string{"--from"}},
		{"balance shop USD --at 2020-02-29 --strong", 0, []string{"At 2020-02-29T23:59:59.999999Z Quantity 10.00",
			"Newest posting 2020-02-29T12:00:00.000000Z Revision 1 Settled yes"}},
	})
	var file strings.Builder
	const many = 101 // more than a page has
	for n := range many {
		fmt.Fprintf(&file, `{"transfer":{"id":"m-%d","from":"bank","to":"jane","asset":"USD","quantity":"1","effective_at":"2020-05-01T00:00:00Z"}}`+"\n", n)
	}
	if code, _, problems := ledgerIn(t.Context(), nil, strings.NewReader(file.String()), "import", "-", "--url", s.URL); code != exitDone {
		t.Fatal(problems)
	}
	s.Project()
	for flag, want := range map[string]int{"--csv": 1 + 1 + many + 1, "--json": 2, "--minor": 1 + 1 + many + 2} {
		_, out, problems := ledger(t, s.URL, "statement", "jane", "USD", "--month", "2020-05", flag)
		if lines := strings.Count(out, "\n"); lines != want || strings.Contains(problems, "last ten seconds") {
			t.Errorf("%s: %d lines, want %d: %s\n%s", flag, lines, want, problems, out)
		}
	}
}
