package main

import (
	"strings"
	"testing"
)

// march is a statement of two pages: an opening of 10.00, a hold that is placed, a transfer of 2.50.
func march() map[string]string {
	const uri = "GET /v1/accounts/jane/statement?asset=USD&"
	sums := func(quantity, credits, debits, postings string) string {
		return `{"quantity":"` + quantity + `","net_expenditure":"0","credits":"` + credits + `","debits":"` + debits +
			`","pending_debits":"0","pending_credits":"0","postings":` + postings + `}`
	}
	line := func(id, quantity, pending, status, after string) string {
		return `{"id":"` + id + `","account":"jane","asset":"USD","quantity":"` + quantity + `","cost":"0","pending":"` +
			pending + `","status":"` + status + `","transaction":"` + id + `","kind":"transfer","description":"=1+1",` +
			`"posted_at":"2026-03-02T10:00:00.000000Z","balance_after":"` + after + `"}`
	}
	page := func(closing, line, next string) string {
		return `{"account":"jane","asset":"USD","from":"2026-03-01T00:00:00.000000Z","to":"2026-04-01T00:00:00.000000Z",` +
			`"opening":` + sums("1000", "1000", "0", "3") + `,"closing":` + closing + `,"settled":true,"data":[` + line +
			`],"next_cursor":` + next + `}`
	}
	return map[string]string{
		"GET /v1/assets/USD": `{"id":"USD","scale":2,"currency":null}`,
		uri + "from=2026-03-01T00%3A00%3A00Z&limit=100&to=2026-04-01T00%3A00%3A00Z": page(
			sums("0", "0", "0", "0"), line("h-1", "0", "-100", "held", "1000"), `"next"`),
		uri[:len(uri)-1] + "&cursor=next&from=2026-03-01T00%3A00%3A00Z&limit=100&to=2026-04-01T00%3A00%3A00Z": page(
			sums("750", "1000", "250", "5"), line("t-1", "-250", "0", "posted", "750"), `null`),
		"GET /v1/accounts/jane/balances/USD?at=2026-03-01T00%3A00%3A00Z&consistency=strong": `{"account":"jane",` +
			`"asset":"USD",` + sums("1000", "1000", "0", "3")[1:],
	}
}

func TestStatement(t *testing.T) {
	t.Parallel()
	answers := march()
	s := newStub(t, answers)
	const dates = "--from=2026-03-01 --to=2026-04-01"
	for flags, want := range map[string]string{
		"--month=2026-03": `
POSTED AT (UTC)      TRANSACTION                               QUANTITY  BALANCE
2026-03-01 00:00:00  Opening balance                                       10.00
2026-03-02 10:00:00  h-1 (transfer, held, pending -1.00) =1+1      0.00    10.00
2026-03-02 10:00:00  t-1 (transfer) =1+1                   -2.50  7.50
2026-04-01 00:00:00  Closing balance                              7.50
                     Total: 2 postings, 0.00 in, 2.50 out  -2.50`,
		dates + " --csv": `
line,posted_at,transaction,kind,posting,account,asset,quantity,cost,currency,description,pending,status,balance_after
opening,2026-03-01T00:00:00.000000Z,,,,jane,USD,,,,,,,10.00
posting,2026-03-02T10:00:00.000000Z,h-1,transfer,h-1,jane,USD,0.00,0,,=1+1,-1.00,held,10.00
posting,2026-03-02T10:00:00.000000Z,t-1,transfer,t-1,jane,USD,-2.50,0,,=1+1,0.00,posted,7.50
closing,2026-04-01T00:00:00.000000Z,,,,jane,USD,,,,,,,7.50`,
		dates + " --csv --minor": `
line,posted_at,transaction,kind,posting,account,asset,quantity,cost,currency,description,pending,status,balance_after
opening,2026-03-01T00:00:00.000000Z,,,,jane,USD,,,,,,,1000
posting,2026-03-02T10:00:00.000000Z,h-1,transfer,h-1,jane,USD,0,0,,=1+1,-100,held,1000
posting,2026-03-02T10:00:00.000000Z,t-1,transfer,t-1,jane,USD,-250,0,,=1+1,0,posted,750
closing,2026-04-01T00:00:00.000000Z,,,,jane,USD,,,,,,,750`,
	} {
		code, out, problems := ledger(t, s.URL, append([]string{"statement", "jane", "USD"}, strings.Fields(flags)...)...)
		if code != 0 || strings.TrimSpace(out) != strings.TrimSpace(want) || problems != "" {
			t.Errorf("%s: %d %s\n%s\nwanted\n%s", flags, code, problems, out, want)
		}
	}
	code, out, _ := ledger(t, s.URL, "statement", "jane", "USD", "--month", "2026-03", "--json")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 2 {
		t.Errorf("%d\n%s", code, out)
	}
	for _, args := range []string{"--month=2026-03 --from=2026-03-01", "--month=2026-03 --to=2026-03-01", "--month=2026",
		"--from=2026-04-01 --to=2026-03-01", "--csv --json", "--from=yesterday"} {
		if code, out, _ := ledger(t, s.URL, append([]string{"statement", "jane", "USD"},
			strings.Fields(args)...)...); code != 2 || out != "" {
			t.Errorf("%s: %d %s", args, code, out)
		}
	}
}

// A balance at a time is asked for as strongly as told, and says whether it can still change.
func TestBalanceAt(t *testing.T) {
	t.Parallel()
	answers := march()
	const uri = "GET /v1/accounts/jane/balances/USD?at=2026-03-01T00%3A00%3A00Z&consistency=strong"
	answers[uri] = strings.TrimSuffix(answers[uri], "}") + `,"as_of":"k","as_of_time":"2026-02-27T10:00:00.000000Z",` +
		`"at":"2026-03-01T00:00:00.000000Z","settled":true,"revision":3,"consistency":"strong"}`
	s := newStub(t, answers)
	code, out, problems := ledger(t, s.URL, "balance", "jane", "USD", "--at", "2026-03-01", "--strong")
	if code != 0 || problems != "" {
		t.Fatal(code, problems)
	}
	says(t, out, "Quantity         10.00", "At               2026-03-01T00:00:00.000000Z", "Revision         3",
		"Settled          yes", "Newest posting   2026-02-27T10:00:00.000000Z")
	if strings.Contains(out, "Available") {
		t.Errorf("limits of then are not known:\n%s", out)
	}
}
