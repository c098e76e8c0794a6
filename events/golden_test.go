package events_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// The golden files define the stored format: old events must always decode. Add files for new kinds, versions and
// variants. From the first release on, NEVER edit or remove a file. If one of them fails, the code is wrong.

// golden has the event of some files in testdata/golden, with every field of every event.
var golden = map[string]events.Event{
	"AssetRegistered.v1.json": events.AssetRegistered{
		ID: "AAPL", Name: "Apple Inc.", Description: "Common stock", Scale: 0, Currency: "USD", Actor: "local", At: goldenAt,
	},
	"AccountOpened.v1.json": events.AccountOpened{
		ID: "jane", Name: "Jane Doe",
		Profile: `{"email":"jane@example.com","addresses":[{"street":"1 Main St","city":"Springfield","country":"US"}]}`,
		Actor:   "arn:aws:sts::123456789012:assumed-role/desk/jane", At: goldenAt,
	},
	"AccountOpened.v1.unlimited.json": events.AccountOpened{ID: "market", Name: "Market", Profile: "{}", Overdraft: events.Overdraft{Unlimited: true}, Actor: "local", At: goldenAt},
	"AccountOpened.v1.limits.json": events.AccountOpened{
		ID: "margin", Name: "Margin", Profile: "{}", Actor: "local", At: goldenAt,
		Overdraft: events.Overdraft{Limits: map[string]events.Amount{
			"USD": events.NewAmount(500000), "EUR": {}, "wei": mustAmount("9999999999999999999999999999"),
		}},
	},
	"TransactionPosted.v1.json": events.TransactionPosted{
		ID: "order-1001", Kind: events.KindTransaction, Description: "Card order <№ 1001>", Metadata: map[string]string{"order": "1001", "note": ""},
		Legs: []events.Leg{
			{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(-2500)},
			{ID: "3MPlq7CblaK144v8BdRNue7pibt", Account: "shop", Asset: "USD", Quantity: events.NewAmount(2400)},
			{ID: "3MPlq7CblaK144v8BdRNugjuM0D", Account: "fees", Asset: "USD", Quantity: events.NewAmount(100)},
		},
		Fingerprint: "1:0123456789abcdef", Actor: "local",
	},
	"PostingRecorded.v1.json": events.PostingRecorded{
		Leg: events.Leg{
			ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "AAPL",
			Quantity: events.NewAmount(10), Cost: mustAmount("-9999999999999999999999999999"),
		},
		Transaction: "t-1", Kind: events.KindTrade, Description: "Ten of them",
	},
	"MemberGranted.v1.json": events.MemberGranted{
		Account: "jane", User: "u-17", Role: events.RoleViewer, Number: 1, Actor: "local", At: goldenAt,
	},
	"MemberRevoked.v1.json": events.MemberGranted{Account: "jane", User: "u-17", Number: 3, Actor: "local", At: goldenAt},
	"TransactionHeld.v1.json": events.TransactionPosted{
		ID: "h-1", Kind: events.KindTransfer, Description: "Table for two", Metadata: map[string]string{"order": "1001"},
		Legs:      heldLegs(-5000, 5000),
		ExpiresAt: goldenAt.AddDate(0, 0, 7), Fingerprint: "1:0123456789abcdef", Actor: "local",
	},
	"TransactionPosted.v1.reversal.json": events.TransactionPosted{
		ID: "r-1", Kind: events.KindReversal, Reverses: "order-1001", Metadata: map[string]string{}, Legs: heldLegs(-100, 100),
		Fingerprint: "1:f", Actor: "local",
	},
	"TransactionPosted.v1.backdated.json": events.TransactionPosted{
		ID: "t-1", Kind: events.KindTransfer, Metadata: map[string]string{}, Legs: heldLegs(-100, 100),
		RecordedAt: goldenAt.AddDate(0, 3, 0), Fingerprint: "1:f", Actor: "local",
	},
	"PostingRecorded.v1.captured.json": events.PostingRecorded{
		Leg:     events.Leg{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(-4210)},
		Pending: events.NewAmount(5000), Phase: events.PhaseCaptured, Transaction: "h-1", Kind: events.KindTransfer,
	},
	"PostingRecorded.v1.backdated.json": events.PostingRecorded{
		Leg:         events.Leg{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(100)},
		Transaction: "t-1", Kind: events.KindTransfer, Backdated: true,
	},
	"HoldCaptured.v1.json": events.HoldEnded{
		Transaction: "h-1", Outcome: events.OutcomeCaptured, Legs: heldLegs(-4210, 4210), Actor: "local",
	},
	"HoldReleased.v1.json": events.HoldEnded{
		Transaction: "h-1", Outcome: events.OutcomeReleased, Legs: heldLegs(0, 0), Description: "Left early", Actor: "local",
	},
	"HoldExpired.v1.json": events.HoldEnded{
		Transaction: "h-1", Outcome: events.OutcomeExpired, Legs: heldLegs(0, 0), Actor: "sweeper",
	},
	"TransactionReversed.v1.json": events.TransactionReversed{
		Transaction: "order-1001", Number: 2, By: "r-1",
		Taken: []events.Taken{{Quantity: events.NewAmount(-100), Cost: events.NewAmount(-7)}, {Quantity: events.NewAmount(100), Cost: events.NewAmount(7)}},
	},
	"GroupRegistered.v1.json": events.GroupRegistered{
		ID: "desk", Name: "The desk", Description: "Trades for clients", Actor: "local", At: goldenAt,
	},
	"AccountGrouped.v1.json": events.AccountGrouped{
		Account: "jane", Number: 2, Groups: []string{"clients", "desk"}, Added: "desk", Actor: "local", At: goldenAt,
	},
	"MemberGranted.v1.group.json": events.MemberGranted{
		Group: "desk", User: "u-17", Role: events.RoleOperator, Number: 1, Actor: "local", At: goldenAt,
	},
	"AccountChanged.v1.closing.json": events.AccountChanged{
		ID: "margin", Number: 4, Profile: "{}", Actor: "local", At: goldenAt, State: events.StateFrozen, Closing: true,
		Overdraft: events.Overdraft{Limits: map[string]events.Amount{"EUR": events.NewAmount(7)}},
		Highest:   map[string]events.Amount{"USD": events.NewAmount(500000), "EUR": events.NewAmount(9)},
	},
}

func heldLegs(jane, shop int64) []events.Leg {
	return []events.Leg{
		{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(jane)},
		{ID: "3MPlq7CblaK144v8BdRNue7pibt", Account: "shop", Asset: "USD", Quantity: events.NewAmount(shop)},
	}
}

var goldenAt = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

func mustAmount(s string) events.Amount {
	a, err := events.ParseAmount(s, events.PostedDigits)
	if err != nil {
		panic(err)
	}
	return a
}

const goldenDir = "testdata/golden"

// readGolden returns the stored form in a golden file, which is the caller's to change.
func readGolden(t testing.TB, file string) stored {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, file))
	if err != nil {
		t.Fatal(err)
	}
	s, err := fromJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// goldenFiles returns the names of all golden files.
func goldenFiles(t testing.TB) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// Each file decodes to its event and is written again as it is. Every name has a file, and so has every field.
func TestGoldenFiles(t *testing.T) {
	found, types, fields := map[string]bool{}, map[string]reflect.Type{}, map[reflect.Type]map[string]any{}
	for _, file := range goldenFiles(t) {
		found[file] = true
		s := readGolden(t, file)
		if prefix := s.Name + ".v" + strconv.Itoa(s.Version) + "."; !strings.HasPrefix(file, prefix) {
			t.Errorf("%s holds %s", file, prefix)
		}
		e, err := s.decode()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if want := golden[file]; want != nil && !reflect.DeepEqual(e, want) {
			t.Errorf("%s: %+v\nwant %+v", file, e, want)
		}
		if text, err := os.ReadFile(filepath.Join(goldenDir, file)); err != nil || string(toJSON(e)) != string(text) {
			t.Errorf("%s: %v, the event is now written as\n%s", file, err, toJSON(e))
		}
		if types[s.Name] = reflect.TypeOf(e); fields[types[s.Name]] == nil {
			fields[types[s.Name]] = map[string]any{}
		}
		maps.Copy(fields[types[s.Name]], s.Fields)
	}
	for file, want := range golden {
		if !found[file] {
			written := filepath.Join(os.TempDir(), file)
			t.Errorf("%s/%s is missing; %s is a new one; %v", goldenDir, file, written,
				os.WriteFile(written, toJSON(want), 0o600))
		}
	}
	for name, all := range events.StoredFields() {
		for _, field := range all {
			if fields[types[name]][field] == nil {
				t.Errorf("no golden file of %s has the field %s: add one, and its event above", name, field)
			}
		}
	}
}
