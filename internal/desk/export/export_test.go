package export

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/events"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// record writes testdata instead of comparing it: go test -record
var record = flag.Bool("record", false, "write testdata")

func each[T any](items ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func read[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

const (
	heldLegs = `"postings":[{"id":"l1","account":"jane","asset":"USD","quantity":"-9","cost":"0"},{"id":"l2","account":"late","asset":"USD","quantity":"9","cost":"0"}]`
	// reversed is a transaction with two postings of one account and asset, and with three reversals.
	reversed = `{"data":{"id":"t-3","kind":"transaction","status":"posted","posted_at":"2026-11-22T00:00:01.000000Z",
		"postings":[{"id":"l3","account":"jane","asset":"USD","quantity":"-2","cost":"0"},{"id":"l4","account":"jane","asset":"USD","quantity":"-3","cost":"0"},{"id":"l5","account":"late","asset":"USD","quantity":"5","cost":"0"}],
		"reversed":[{"account":"jane","asset":"USD","quantity":"-2","cost":"0"},{"account":"jane","asset":"USD","quantity":"-3","cost":"0"},{"account":"late","asset":"USD","quantity":"5","cost":"0"}]}}`
)

// sample is a ledger with all kinds of entries.
func sample(t *testing.T) Ledger {
	t.Helper()
	late := read[client.Account](t, `{"id":"late","overdraft":"unlimited","state":"open"}`)
	accounts := read[[]client.Account](t, `[
		{"id":"Assets:Bank","name":"The \"bank\"","overdraft":"unlimited","state":"open"},
		{"id":"gone","overdraft":{},"state":"closed"},
		{"id":"jane","name":"Jane","overdraft":{"USD":"500"},"state":"frozen"},
		{"id":"unused","name":"Unused","state":"open"},
		{"id":"users:jo_e@home","state":"open"}]`)
	assets := read[[]client.Asset](t, `[{"id":"AAPL","name":"Apple","scale":0,"currency":"USD"},{"id":"GLD","name":"Gold","scale":3,"currency":"USD"},
		{"id":"USD","name":"US dollar","scale":2},{"id":"usd_t","name":"Tokens","scale":18}]`)
	entry := func(n int, event, transaction string) client.JournalEntry {
		e := read[client.JournalEntry](t, transaction)
		e.Type, e.Cursor = event, fmt.Sprint("c", n)
		return e
	}
	postedEntry := entry(1, events.TypePosted, `{"data":{"id":"t-1","kind":"transfer","status":"posted","posted_at":"2026-11-21T09:06:39.123456Z",
		"recorded_at":"2026-11-21T09:06:39.123456Z","description":"Lunch; \"really\"","metadata":{"order":"1001","Über":"x","date":"no","list":"a,b","ledger-id":"other"},
		"postings":[{"id":"k1","account":"jane","asset":"USD","quantity":"-2500","cost":"0"},{"id":"k2","account":"users:jo_e@home","asset":"USD","quantity":"2500","cost":"0"}]}}`)
	back := func(n, quantity int) client.JournalEntry {
		return entry(5, events.TypePosted, fmt.Sprintf(`{"data":{"id":"r-%d","kind":"reversal","status":"posted","posted_at":"2026-11-22T00:00:02.000000Z",
			"reverses":"t-3","postings":[{"id":"m%[1]d","account":"jane","asset":"USD","quantity":"%[2]d","cost":"0"},{"id":"n%[1]d","account":"late","asset":"USD","quantity":"-%[2]d","cost":"0"}]}}`, n, quantity))
	}
	pages := map[string]client.JournalPage{
		"": {Data: []client.JournalEntry{
			entry(1, events.TypeAssetRegistered, `{"data":{"id":"AAPL","name":"Apple","scale":0,"currency":"USD"}}`),
			entry(1, events.TypeAccountOpened, `{"data":{"id":"Assets:Bank","name":"The \"bank\"","overdraft":"unlimited"}}`),
			entry(1, events.TypeAccountOpened, `{"data":{"id":"gone","overdraft":{}}}`),
			entry(1, events.TypeAccountOpened, `{"data":{"id":"unused","name":"Unused"}}`),
			postedEntry,
			entry(2, events.TypeHeld, `{"data":{"id":"h-1","kind":"transfer","status":"held","posted_at":"2026-11-21T09:07:00.000000Z"}}`),
			entry(3, events.TypeCaptured, `{"data":{"id":"h-1","kind":"transaction","status":"captured","posted_at":"2026-11-21T09:07:00.000000Z",
				"ended_at":"2026-11-22T00:00:00.000001Z","recorded_at":"2026-11-21T09:07:00.000000Z","postings":[],
				"captured":[{"id":"k3","account":"jane","asset":"usd_t","quantity":"-7","cost":"0"},{"id":"k4","account":"jane","asset":"usd_t","quantity":"0","cost":"0"},
				{"id":"k5","account":"late","asset":"usd_t","quantity":"7","cost":"0"}]}}`),
		}, NextCursor: "c3"},
		"c3": {Data: []client.JournalEntry{
			postedEntry, // a second time
			entry(5, events.TypeReleased, `{"data":{"id":"h-2","kind":"transfer","status":"released","expires_at":"2026-12-01T00:00:00.000000Z","end_description":"No",`+heldLegs+`}}`),
			// Its hold is listed later.
			entry(5, events.TypeExpired, `{"data":{"id":"h-4","kind":"transfer","status":"expired","expires_at":"2026-11-22T00:00:00.000000Z","ended_at":"2026-11-22T00:00:05.000000Z",`+heldLegs+`}}`),
			entry(5, events.TypeHeld, `{"data":{"id":"h-4","kind":"transfer","status":"held",`+heldLegs+`}}`),
			entry(5, events.TypeHeld, `{"data":{"id":"h-3","kind":"transfer","status":"held","posted_at":"2026-11-21T00:00:00.000000Z","expires_at":"2026-12-01T00:00:00.000000Z",`+heldLegs+`}}`),
			// The newer grant is listed first. What is reversed is listed after its reversal.
			entry(5, events.TypeMemberGranted, `{"id":"ACCOUNT#jane/GRANT#mary#000000000002","data":{"account":"jane","user":"mary","role":"owner"}}`),
			entry(5, events.TypeMemberGranted, `{"id":"ACCOUNT#jane/GRANT#mary#000000000001","data":{"account":"jane","user":"mary","role":"viewer"}}`),
			entry(5, events.TypeMemberGranted, `{"id":"ACCOUNT#jane/GRANT#paul#000000000001","data":{"account":"jane","user":"paul","role":"viewer"}}`),
			entry(5, events.TypeMemberRevoked, `{"id":"ACCOUNT#jane/GRANT#paul#000000000002","data":{"account":"jane","user":"paul","role":null}}`),
			entry(5, events.TypeGroupMemberGranted, `{"id":"GROUP#desk/GRANT#mary#000000000001","data":{"group":"desk","user":"mary","role":"viewer"}}`),
			entry(5, events.TypeGrouped, `{"id":"ACCOUNT#jane/GROUPS#000000000001","data":{"group":"desk","account":"jane","groups":["desk"]}}`),
			entry(5, events.TypeGroupRegistered, `{"id":"GROUP#desk/GROUP#desk","data":{"id":"desk","name":"Desk","description":"Trades","created_at":"2026-11-21T00:00:00.000000Z"}}`),
			entry(5, events.TypePeriodClosed, `{"id":"PERIOD/CLOSED#000000000001","data":{"number":1,"closed_before":"2026-11-01T00:00:00.000000Z","reason":"October"}}`),
			entry(5, events.TypeAccountChanged, `{"id":"ACCOUNT#jane/CHANGE#000000000002","data":{"id":"jane"}}`),
			back(1, 2), back(2, 2), back(3, 1),
			entry(5, events.TypePosted, reversed),
			entry(6, events.TypePosted, `{"data":{"id":"t-2","kind":"transaction","status":"posted","posted_at":"2020-01-01T00:00:00.000000Z",
				"recorded_at":"2026-11-22T00:00:00.000000Z","description":"Bought\nlate","metadata":{},
				"postings":[{"id":"k6","account":"jane","asset":"AAPL","quantity":"10","cost":"150001"},{"id":"k7","account":"Assets:Bank","asset":"AAPL","quantity":"-10","cost":"-150001"},
				{"id":"k8","account":"jane","asset":"GLD","quantity":"3","cost":"-5"},{"id":"k9","account":"Assets:Bank","asset":"GLD","quantity":"-3","cost":"5"}]}}`),
		}, NextCursor: "c6"},
		"c6": {NextCursor: "c6"},
	}
	return Ledger{
		Assets:   each(assets...),
		Accounts: each(accounts...),
		Transaction: func(context.Context, string) (client.Reply[client.Transaction], error) {
			t, _, err := entry(0, events.TypePosted, reversed).Transaction()
			return client.Reply[client.Transaction]{Value: t}, err
		},
		Account: func(_ context.Context, id string) (client.Reply[client.Account], error) {
			for _, a := range slices.Concat(accounts, []client.Account{late}) {
				if a.ID == id {
					a.Profile = json.RawMessage(`{}`)
					if id == "jane" {
						a.Profile = json.RawMessage(`{"email":"jane@example.com"}`)
					}
					return client.Reply[client.Account]{Value: a}, nil
				}
			}
			return client.Reply[client.Account]{}, errors.New("no such account")
		},
		Journal: func(_ context.Context, after string) (client.JournalPage, error) { return pages[after], nil },
		Asset: func(_ context.Context, id string) (client.Reply[client.Asset], error) {
			for _, a := range assets {
				if a.ID == id {
					return client.Reply[client.Asset]{Value: a}, nil
				}
			}
			return client.Reply[client.Asset]{}, errors.New("no such asset")
		},
		Opening: func(_ context.Context, id string) (client.Account, error) {
			for _, a := range slices.Concat(accounts, []client.Account{late}) {
				if a.ID == id {
					return a, nil
				}
			}
			return client.Account{}, errors.New("no such account")
		},
	}
}

// Each format has the output in testdata, followed by the notes.
func TestFormats(t *testing.T) {
	for _, format := range Formats() {
		var out strings.Builder
		result, err := Run(t.Context(), Config{Ledger: sample(t), Format: format}, &out)
		if err != nil || result.Transactions != 7 || result.Postings != 17 {
			t.Fatalf("%s: %+v, %v", format, result, err)
		}
		got := out.String() + "---\n" + strings.Join(result.Notes, "\n") + "\n"
		path := filepath.Join("testdata", "sample."+format)
		if *record {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
	}
}

// An error of the ledger ends an export. An unknown format is refused.
func TestExportFails(t *testing.T) {
	var out strings.Builder
	l := sample(t)
	broken := errors.New("broken")
	l.Journal = func(context.Context, string) (client.JournalPage, error) { return client.JournalPage{}, broken }
	if _, err := Run(t.Context(), Config{Ledger: l, Format: "csv"}, &out); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := Run(t.Context(), Config{Ledger: l, Format: "xml"}, &out); err == nil {
		t.Error("an unknown format")
	}
}

// Every id has a unique and valid account name in beancount.
func TestBeancountAccountNames(t *testing.T) {
	ids := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,12}|(Assets|Equity)(:[A-Z-]{1,3}){0,2}|Equity:Ledger:[A-Zx-]{0,5}|u:(X|-|2e|[.]|b){1,5}`).
		Filter(events.ValidID)
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids.Draw(t, "a"), ids.Draw(t, "b")
		if !beancountAccount.MatchString(accountName(a)) {
			t.Fatalf("%q becomes %q", a, accountName(a))
		}
		if a != b && accountName(a) == accountName(b) {
			t.Fatalf("%q and %q both become %q", a, b, accountName(a))
		}
	})
}

// Transactions of one instant are exported in the order of their KSUIDs, in whichever order the journal has them, also
// on several pages. Those that follow a late one move behind it.
func TestOrderOfOneInstant(t *testing.T) {
	l := sample(t)
	var journal []client.JournalEntry
	for n, id := range []string{"k3", "k9", "k1", "k5", "k2", "k4"} {
		at := "12:00:00.000000Z"
		if id == "k9" || id == "k5" {
			at = "11:00:00.000000Z"
		}
		journal = append(journal, read[client.JournalEntry](t, fmt.Sprintf(`{"type":"transaction.posted","cursor":"%d","data":{"id":%q,
			"kind":"transfer","status":"posted","posted_at":"2026-11-21T%s","metadata":{},"postings":[
			{"id":%[2]q,"account":"jane","asset":"USD","quantity":"-1","cost":"0"},{"id":"z","account":"gone","asset":"USD","quantity":"1","cost":"0"}]}}`, n+1, id, at)))
	}
	l.Journal = func(_ context.Context, after string) (client.JournalPage, error) {
		n, _ := strconv.Atoi(after)
		if n == len(journal) {
			return client.JournalPage{NextCursor: after}, nil
		}
		return client.JournalPage{Data: journal[n : n+1], NextCursor: fmt.Sprint(n + 1)}, nil
	}
	var out strings.Builder
	if _, err := Run(t.Context(), Config{Ledger: l, Format: "jsonl"}, &out); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`"transfer":\{"id":"k[0-9]`).FindAllString(out.String(), -1)
	for i, id := range []string{"k1", "k5", "k9", "k2", "k3", "k4"} {
		if len(got) != 6 || !strings.HasSuffix(got[i], id) {
			t.Fatalf("%q", got)
		}
	}
}

// An asset that is registered during an export is written once, after its currency, and before the postings that use it.
func TestLateAssets(t *testing.T) {
	l := sample(t)
	pages := []client.JournalPage{{NextCursor: "1", Data: []client.JournalEntry{read[client.JournalEntry](t, `{"type":"transaction.posted","cursor":"1","data":{
		"id":"t","kind":"trade","status":"posted","posted_at":"2026-11-21T00:00:00.000000Z","postings":[
		{"id":"k1","account":"jane","asset":"LATE","quantity":"1","cost":"5"},{"id":"k2","account":"gone","asset":"LATE","quantity":"-1","cost":"-5"},
		{"id":"k3","account":"jane","asset":"NEW","quantity":"-5","cost":"0"},{"id":"k4","account":"gone","asset":"NEW","quantity":"5","cost":"0"}]}}`)}}, {NextCursor: "1"}}
	l.Journal = func(_ context.Context, after string) (client.JournalPage, error) { return pages[len(after)], nil }
	l.Asset = func(_ context.Context, id string) (client.Reply[client.Asset], error) {
		return client.Reply[client.Asset]{Value: client.Asset{ID: id, Currency: map[string]string{"LATE": "NEW"}[id]}}, nil
	}
	var out strings.Builder
	if _, err := Run(t.Context(), Config{Ledger: l, Format: "jsonl"}, &out); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^\{"(?:asset":\{"id":"(?:LATE|NEW)|trade)`).FindAllString(out.String(), -1)
	if want := []string{`{"asset":{"id":"NEW`, `{"asset":{"id":"LATE`, `{"trade`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The postings of which reversals took their amounts are found, although all have one account and asset.
func TestTaken(t *testing.T) {
	for name, c := range map[string]struct {
		postings  []int64
		reversals [][]int64
	}{
		"what is left after the first":   {[]int64{-2, -3, 5}, [][]int64{{-2, 0, 2}, {0, -2, 2}, {0, -1, 1}}},
		"not a posting of the same sign": {[]int64{-5, -7, 12}, [][]int64{{-3, 0, 3}}},
		"just the rest of the second":    {[]int64{-38, -14, 52}, [][]int64{{0, -13, 13}, {-17, 0, 17}}},
		"the rest would be out of order": {[]int64{-2, -3, 5}, [][]int64{{-1, -1, 2}, {-1, 0, 1}}},
	} {
		of := client.Transaction{ID: "t", Status: client.StatusPosted}
		for i, quantity := range c.postings {
			sum := int64(0)
			for _, r := range c.reversals {
				sum += r[i]
			}
			of.Postings = append(of.Postings, usd("a", quantity))
			of.Reversed = append(of.Reversed, client.Leg{Account: "a", Asset: "USD", Quantity: events.NewAmount(sum)})
		}
		f := &linesFormat{left: make(map[string][]client.Leg)}
		for n, took := range c.reversals {
			var legs []client.Posting
			var want []client.Taken
			for _, quantity := range took {
				want = append(want, client.Taken{Quantity: events.NewAmount(quantity), Cost: new(events.Amount)})
				if quantity != 0 {
					legs = append(legs, usd("a", -quantity))
				}
			}
			if got := f.taken(of, legs); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: reversal %d took %v, want %v", name, n, got, want)
			}
		}
		if len(f.left) > 0 {
			t.Errorf("%s: %v is left", name, f.left)
		}
	}
}

// usd returns a posting of USD.
func usd(account string, quantity int64) client.Posting {
	return client.Posting{
		PostedLegOf: client.PostedLeg{Account: account, Asset: "USD", Quantity: events.NewAmount(quantity)},
	}
}
