package command

import (
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
)

// step is a command line, its exit status, and what it prints: to standard output, or to standard error if it fails.
type step struct {
	line   string
	status int
	says   []string
}

// wantSteps runs command lines against url, one after the other. Words are separated by single spaces.
func wantSteps(t *testing.T, url string, steps []step) {
	t.Helper()
	for _, s := range steps {
		out, problems, status := process.Run(t, url, strings.Split(s.line, " ")...)
		said := out
		if s.status != 0 {
			said = problems
		}
		if status != s.status || s.status != 0 && out != "" {
			t.Errorf("ledger %s: status %d, want %d\n%s%s", s.line, status, s.status, out, problems)
		}
		// Tables align their cells by as many spaces as it takes.
		for _, want := range s.says {
			if !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
				t.Errorf("ledger %s: %q is missing in\n%s", s.line, want, said)
			}
		}
	}
}

// Money is set aside, captured, released and taken back from the command line, in decimals. What is refused is said in
// decimals as well, and nothing is done by it.
func TestTheLifeOfMoneyFromTheCommandLine(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	up := process.Start(t, "up", "--memory", "--port", "0", "--demo")
	wantDemo(t, caller.New(t, up.URL))
	wantSteps(t, up.URL, []step{
		{"account open hotel --name Hotel", 0, []string{"Account hotel", "State open", "Version 1"}},
		{"account open hotel --name Hotel", 0, []string{"Version 1"}},
		{"account open hotel --name Other", 1, []string{"account_exists"}},

		{"transfer jane hotel 400 USD --hold --expires 3d --id stay-7", 0, []string{"Status held", "Expires at", "-400.00"}},
		{"transfer jane hotel 400 USD --hold --expires 2020-01-31 --id late", 1, []string{"hold.expires_at"}},
		{"transfer jane hotel 3100.01 USD", 1, []string{"jane has 3100.00 of USD available, and 3100.01 were asked for"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00", "Pending debits 400.00", "Available 3100.00"}},
		{"capture stay-7 312.50 --dry-run", 0, []string{"Status captured", "jane USD -312.50"}},
		{"release stay-7 --dry-run", 0, []string{"Status released"}},
		{"capture stay-7 400.01 --dry-run", 1, []string{"exceeds_hold"}},
		{"transfer jane hotel 1 USD --hold --dry-run", 0, []string{"Status held"}},
		{"transfer jane hotel 3100.01 USD --dry-run", 1, []string{"jane has 3100.00 of USD available"}},
		{"reverse t-1 2 --cost 300 --dry-run", 0, []string{"Kind reversal", "jane AAPL -2 -300.00 USD"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00", "Pending debits 400.00"}},
		{"capture stay-7 400.01", 1, []string{"exceeds_hold"}},
		{"capture stay-7 400.005", 2, []string{"3 decimal places"}},
		{"capture stay-7 0", 1, []string{"nothing_captured"}},
		{"capture stay-7 1 --cost 1", 1, []string{"invalid_transaction"}},
		{"capture stay-8", 1, []string{"transaction_not_found"}},
		{"capture deposit-1", 1, []string{"not_a_hold"}},
		{"capture stay-7 312.50", 0, []string{"Status captured", "Captured", "jane USD -312.50"}},
		{"capture stay-7 312.50", 0, []string{"Status captured"}},
		{"capture stay-7", 1, []string{"hold_ended"}},
		{"release stay-7", 1, []string{"hold_ended"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3187.50", "Pending debits 0.00", "Available 3187.50"}},

		{"trade --asset AAPL --buyer jane --seller market --quantity 4 --cost 600 --settle --hold --id t-2", 0,
			[]string{"Status held"}},
		{"release t-2 --description Cancelled", 0, []string{"Status released", "Why it ended Cancelled"}},
		{"release t-2", 0, []string{"Status released"}},
		{"reverse t-2 --id r-0", 1, []string{"nothing_to_reverse"}},
		{"reverse stay-7 312.51 --id r-1", 1, []string{"exceeds_reversible", "left: -312.50 of USD at jane"}},
		{"reverse stay-7 12.50 --id r-1", 0, []string{"Kind reversal", "Reverses stay-7", "jane USD 12.50"}},
		{"reverse t-1 2 --cost 300 --id r-2", 0, []string{"jane AAPL -2 -300.00 USD", "jane USD 300.00"}},
		{"transaction stay-7", 0, []string{"Reversed ACCOUNT ASSET QUANTITY COST jane USD -12.50"}},
		{"balance jane USD --strong", 0, []string{"Quantity 3500.00"}},
	})
	caller.Eventually(t, time.Minute, "the holds are listed", func() bool {
		out, _, _ := process.Run(t, up.URL, "hold", "jane")
		return strings.Contains(out, "captured") && strings.Contains(out, "released")
	})
	wantSteps(t, up.URL, []step{
		{"transfer jane hotel 1 USD --hold --expires 1h --id open-1", 0, []string{"held"}},
		{"history jane --asset USD --strong", 0, []string{"PENDING", "stay-7 (transfer,", "-312.50 - 400.00"}},
	})
	caller.Eventually(t, time.Minute, "the open hold is listed", func() bool {
		out, _, _ := process.Run(t, up.URL, "hold")
		of, _, _ := process.Run(t, up.URL, "hold", "hotel", "--status", "held")
		return strings.Contains(out, "open-1") && strings.Contains(of, "open-1") && !strings.Contains(out, "stay-7")
	})
}

// Accounts are changed, frozen and closed from the command line.
func TestAccountsFromTheCommandLine(t *testing.T) {
	full.Only(t, reason)
	t.Parallel()
	up := process.Start(t, "up", "--memory", "--port", "0", "--demo")
	wantDemo(t, caller.New(t, up.URL))
	wantSteps(t, up.URL, []step{
		{"account open margin --overdraft USD:50.00 --profile {\"desk\":7}", 0, []string{"Overdraft 50.00 USD", `Profile {"desk":7}`}},
		{"transfer margin bank 50 USD --id m-1", 0, nil},
		{"account change margin --name Margin --overdraft USD:75.00", 0, []string{"Name Margin", "Overdraft 75.00 USD", "Version 2"}},
		{"transfer margin bank 25 USD --id m-2", 0, nil},
		{"account change margin --name Other --if-version 1", 1, []string{"version_mismatch"}},
		{"account change margin --overdraft unlimited", 1, []string{"invalid_change"}},
		{"account change margin --overdraft EUR:1", 1, []string{"asset_not_found"}},
		{"account freeze jane", 0, []string{"State frozen"}},
		{"transfer jane bank 1 USD", 1, []string{"account_frozen"}},
		{"account close jane", 1, []string{"invalid_change"}},
		{"account unfreeze jane", 0, []string{"State open"}},
		{"transfer jane bank 1 USD --id j-1", 0, nil},
		{"account open empty", 0, nil},
		{"account close empty", 0, []string{"State closed"}},
		{"account unfreeze empty", 1, []string{"invalid_change"}},
		{"account freeze nobody", 1, []string{"account_not_found"}},
		{"account show nobody", 1, []string{"account_not_found"}},
		{"account changes margin", 0, []string{"2 ", `name "Margin", overdraft 75.00 USD`, `overdraft 50.00 USD`}},
		{"account list --limit 2", 0, []string{"ACCOUNT"}},
	})
}
