package verify

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections/repair"
	"ledger.example/tests/full"
	"ledger.example/tests/system"
)

// Everything in the book is used or shown by another item, so each item that is deleted is missed. Without the cursor of
// a target, everything is delivered again, which is no damage. The short run deletes one item of each type.
func TestEachDeletedItemIsMissed(t *testing.T) {
	for kind, keys := range copyOfBook(t).ofEachType(t) {
		for i, k := range keys {
			if i > 0 && !full.Enabled() {
				break
			}
			b := copyOfBook(t)
			if kind == store.Forwarded.Type {
				continue
			}
			if b.drop(k); verify(t, b.client(t), 0).Sound() {
				t.Errorf("the %s at %s %s is not missed", kind, k.PK, k.SK)
			}
		}
	}
}

// The audit reports one item of each type whose form is newer than the code, or missing.
func TestItemsOfOtherFormsAreFound(t *testing.T) {
	for kind, keys := range copyOfBook(t).ofEachType(t) {
		for _, name := range []string{"newer", "missing"} {
			b := copyOfBook(t)
			if b.set(keys[0], store.AttrForm, store.Integer(events.Form+1)); name == "missing" {
				b.unset(keys[0], store.AttrForm)
			}
			isWanted := func(f audit.Finding) bool { return f.Key == keys[0] && f.Attribute == store.AttrForm }
			if found := verify(t, b.client(t), 0).Findings; !slices.ContainsFunc(found, isWanted) {
				t.Errorf("%s form of a %s: %+v", name, kind, found)
			}
		}
	}
}

// After these deletions, only the journal shows the event. Who also takes its entries out of the journal, and recomputes
// the checksum of the page, leaves no trace. docs/operations.md names them. An earlier digest shows it.
func TestDeletionsWithoutATrace(t *testing.T) {
	after := time.Duration(0)
	now := func() time.Time { return time.Now().Add(after) }
	client := newTable(t, now)
	copyOfBook(t).write(t, client)
	w := writer{t, newLedger(client, now)}
	w.open(ledger.OpenAccount{ID: "idle", Overdraft: events.Overdraft{Unlimited: true}})
	w.change(ledger.ChangeAccount{ID: "idle", State: new(events.StateFrozen)})
	if err := list(t, client, now, repair.Scope{}, nil); err != nil {
		t.Fatal(err)
	}
	after = time.Minute // a digest reads behind the clock
	before := verify(t, client, 0)
	if !before.Sound() {
		t.Fatalf("%+v", before)
	}
	check := sealed(t, client)
	if found := check(client); found != "" {
		t.Fatal(found)
	}
	for _, keys := range [][]store.Key{
		{store.Change.Key("idle", 2), store.Current.Key("idle")},
		{store.Grant.Key("jane", "u-1", 3), store.Grant.Key("jane", "u-1", 2), store.Grant.Key("jane", "u-1", 1),
			store.Membership.Key("jane", "u-1")},
		{store.Account.Key("idle"), store.Change.Key("idle", 2), store.Current.Key("idle")},
	} {
		b := book(system.Contents(t, client, books))
		for _, k := range keys {
			b.drop(k)
		}
		report := verify(t, b.client(t), 0)
		if report.Counts.Findings == 0 || report.ByCode[audit.JournalWrong] != report.Counts.Findings {
			t.Errorf("%v: %+v", keys, report.Findings)
		}
		for _, page := range b.journalPages() {
			rest := slices.DeleteFunc(slices.Clone(b.entriesIn(page)), func(entry types.AttributeValue) bool {
				return slices.Contains(keys, eventOf(entry))
			})
			if len(rest) == 0 {
				b.drop(page)
				continue
			}
			b.set(page, store.AttrEntries, &types.AttributeValueMemberL{Value: rest})
			b.seal(page, "")
		}
		altered := newTable(t, now)
		b.write(t, altered)
		if report := verify(t, altered, 0); !report.Sound() {
			t.Errorf("%v and their entries: %+v", keys, report.Findings)
		}
		if found := check(altered); !strings.Contains(found, "entries or pages were added or removed") &&
			!strings.Contains(found, "is missing") {
			t.Errorf("%v and their entries: a digest shows %q", keys, found)
		}
	}
}

// Without the copy of its newest change, an account is read as it was opened. Debits of a limited account and changes
// fail, because the guard and the stored changes contradict that. The copy can be made again from the change.
func TestDeletedCopyOfAnAccount(t *testing.T) {
	b := copyOfBook(t)
	current, newest := store.Current.Key("firm"), store.Change.Key("firm", 5)
	b.addChange(events.AccountChanged{ID: "firm", Number: 5, State: events.StateFrozen, Overdraft: limit(100),
		Highest: limit(500).Limits, At: time.Now().Add(-30 * time.Minute)})
	original := b[current]
	b.drop(current)
	client := b.client(t)
	expect(t, verify(t, client, 0), atItems(audit.AccountCurrentWrong, current))

	l := newLedger(client, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, debited := l.Post(ctx, transfer(about("debit"), "firm", "bank", "USD", 1))
	changeCtx, cancelChange := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancelChange()
	_, changed := l.ChangeAccount(changeCtx, ledger.ChangeAccount{ID: "firm", Name: new("Other"), Actor: "tester"})
	_, credited := l.Post(t.Context(), transfer(about("credit"), "bank", "firm", "USD", 1))
	if debited == nil || changed == nil || credited != nil {
		t.Errorf("debit: %v, change: %v, credit: %v", debited, changed, credited)
	}

	item := maps.Clone(b[newest])
	item[store.AttrSK], item[store.AttrType] = store.String(current.SK), store.String(store.Current.Type)
	if !reflect.DeepEqual(item, original) {
		t.Errorf("the copy is %v, want %v", item, original)
	}
}
