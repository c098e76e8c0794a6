package command

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/desk/units"
	"ledger.example/tests/harness/books"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

// journalTime bounds the time until a transaction is in the journal and exported.
const journalTime = 2 * time.Minute

// export writes the export to a file. It waits until the journal has the given number of transactions.
func export(t *testing.T, from, format string, transactions int) (file, notes string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "exported."+format)
	said := ""
	caller.Eventually(t, journalTime, "the journal has it all", func() bool {
		out, problems, status := process.Run(t, from, "export", "--format", format, "-o", file, "--json")
		said, notes = out, problems
		return status == 0 && strings.Contains(out, fmt.Sprintf(`"transactions":%d}`, transactions))
	})
	if said == "" {
		t.Fatalf("the export is not complete: %s", notes)
	}
	return file, notes
}

// takes imports a file, and compares the counts.
func takes(t *testing.T, s *caller.Caller, want string, arguments ...string) {
	t.Helper()
	out, problems, status := process.Run(t, s.URL, append([]string{"import", "--json"}, arguments...)...)
	if status != 0 || !strings.Contains(out, want) {
		t.Fatalf("import %q: %d: %s%s", arguments, status, out, problems)
	}
}

// hledger and beancount accept their exports in strict mode, and have the same balances. The notes list what is not
// exported. What beancount has made of it is imported again: tests/roundtrip does that with lines, and compares more.
func TestExportAndImport(t *testing.T) {
	full.Only(t, "waits until the journal trails far enough")
	needs(t, "hledger")
	needs(t, "bean-check")
	const atomic = 20
	t.Parallel()
	s := caller.New(t, process.Start(t, "up", "--memory", "--port", "0").URL)
	b := books.New(12, 60, 8)
	takes(t, s, `"failed":0`, b.File(t))
	s.Must(201, "PUT", "/v1/accounts/jane", `{"name":"Jane","profile":{"email":"jane@example.com"},"overdraft":{"EUR":"500"}}`)
	s.Must(201, "PUT", "/v1/accounts/gone", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-1","from":"world","to":"jane","asset":"EUR","quantity":"1000",`+
		`"description":"Pay; \"June\"","metadata":{"order":"1001","Note":"a, b"}}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-2","from":"jane","to":"world","asset":"EUR","quantity":"300","hold":{}}`)
	s.Must(200, "POST", "/v1/transactions/x-2/capture", `{"quantity":"200"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-3","from":"jane","to":"world","asset":"EUR","quantity":"5","hold":{}}`)
	s.Must(200, "POST", "/v1/transactions/x-3/release", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-4","from":"jane","to":"world","asset":"EUR","quantity":"1200"}`)
	s.Must(201, "POST", "/v1/transactions/x-1/reversals", `{"id":"x-5","quantity":"100"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-6","from":"world","to":"gone","asset":"GOLD","quantity":"7"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-7","from":"gone","to":"world","asset":"GOLD","quantity":"7"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-8","from":"world","to":"jane","asset":"GOLD","quantity":"3",`+
		`"effective_at":"2020-02-29T12:00:00.000001Z"}`)
	// Many transactions of one instant: an atomic batch, and others that are backdated.
	var batch []string
	for n := range atomic {
		batch = append(batch, fmt.Sprintf(
			`{"transfer":{"id":"one-%d","from":"world","to":"jane","asset":"GOLD","quantity":"%d"}}`, n, n+1))
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"then-%d","from":"world","to":"jane","asset":"GOLD",`+
			`"quantity":"%d","effective_at":"2020-02-29T12:00:00.000001Z"}`, n, n+1))
	}
	s.Must(201, "POST", "/v1/batches", `{"atomic":true,"requests":[`+strings.Join(batch, ",")+`]}`)
	s.Must(200, "PATCH", "/v1/accounts/gone", `{"state":"closed"}`)
	s.Must(200, "PATCH", "/v1/accounts/jane", `{"state":"frozen"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"x-9","from":"world","to":"books:001","asset":"EUR","quantity":"1","hold":{}}`)

	posted := -3 // the assets and the account world
	for _, line := range b.Lines {
		if !strings.HasPrefix(line, `{"account"`) {
			posted++
		}
	}
	posted += 1 + 7 + 2*atomic // all x-… except the released and the open one
	journal, notes := export(t, s.URL, "hledger", posted)
	for _, note := range []string{`hold "x-9" is open`, "released or expired"} {
		if !strings.Contains(notes, note) {
			t.Errorf("%q is missing: %s", note, notes)
		}
	}
	runs(t, "hledger", "-f", journal, "check", "--strict")
	expected := rows(t, runs(t, "hledger", "-f", journal, "balance", "--flat", "--no-total", "--layout=bare", "-O", "csv"))
	if wrong := differences(t, s, expected, nil); wrong != nil {
		t.Errorf("hledger's balances: %q", wrong)
	}
	book, _ := export(t, s.URL, "beancount", posted)
	runs(t, "bean-check", book)
	third := caller.New(t, process.Start(t, "up", "--memory", "--port", "0").URL)
	takes(t, third, `"failed":0`, book)
	caller.Eventually(t, time.Minute, "what beancount has made of it is the same", func() bool {
		return balances(third) == balances(s)
	})
}

// balances returns the quantities and costs of all balances.
func balances(s *caller.Caller) string {
	var b strings.Builder
	for _, account := range caller.Column(s.All("/v1/accounts", 100), "id") {
		for _, balance := range s.All("/v1/accounts/"+account+"/balances", 100) {
			if balance["credits"] != "0" || balance["debits"] != "0" {
				fmt.Fprintln(&b, account, balance["asset"], balance["quantity"], balance["net_expenditure"])
			}
		}
	}
	return b.String()
}

// runs runs a program, and returns its output.
func runs(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", program, err, out, problems.String())
	}
	return string(out)
}

// rows parses CSV without its heading.
func rows(t *testing.T, text string) [][]string {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%v: %s", err, text)
	}
	return all[1:]
}

// differences compares the quantities of another program, as rows of account, asset, and the quantity at each of some
// times, with those of the ledger at these times, or now if there are none. A balance that is missing in the rows must
// be zero if they have the account.
func differences(t *testing.T, s *caller.Caller, expected [][]string, times []string) (wrong []string) {
	t.Helper()
	scales := make(map[string]int)
	for _, asset := range s.All("/v1/assets", 100) {
		scale, _ := asset["scale"].(float64)
		scales[fmt.Sprint(asset["id"])] = int(scale)
	}
	want := make(map[string]map[string][]string) // by account and asset
	for _, row := range expected {
		if want[row[0]] == nil {
			want[row[0]] = make(map[string][]string)
		}
		want[row[0]][row[1]] = row[2:]
	}
	now := len(times) == 0
	if now {
		times = []string{""}
	}
	for _, account := range slices.Sorted(maps.Keys(want)) {
		for n, at := range times {
			path := "/v1/accounts/" + url.PathEscape(account) + "/balances"
			if !now {
				path += "?at=" + at
			}
			got := make(map[string]string)
			for _, balance := range s.All(path, 100) {
				got[fmt.Sprint(balance["asset"])] = fmt.Sprint(balance["quantity"])
			}
			for asset, quantities := range want[account] {
				number := strings.TrimSpace(quantities[n])
				if strings.Contains(number, ".") {
					number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
				}
				quantity, err := units.Parse(number, scales[asset])
				if err != nil {
					t.Fatalf("%s %s: %v", account, asset, err)
				}
				if shown, ok := got[asset]; shown != quantity.String() && (ok || quantity != (events.Amount{})) {
					wrong = append(wrong, fmt.Sprintf("%s %s at %s: %q, not %s", account, asset, at, shown, quantity))
				}
				delete(got, asset)
			}
			for asset, quantity := range got {
				if quantity != "0" {
					wrong = append(wrong, fmt.Sprintf("%s %s at %s: %q, not nothing", account, asset, at, quantity))
				}
			}
		}
	}
	return wrong
}
