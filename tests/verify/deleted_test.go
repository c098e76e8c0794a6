package verify

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/system"
)

// Everything in the book is used or shown by another item, so each item that is deleted is missed. Without the cursor of
// a target, everything is delivered again, which is no damage. A growth of lanes that has not begun decides nothing yet,
// and is no event of the journal. The short run deletes one item of each type.
func TestEachDeletedItemIsMissed(t *testing.T) {
	for kind, keys := range copyOfBook(t).ofEachType(t) {
		for i, k := range keys {
			if i > 0 && !full.Enabled() {
				break
			}
			b := copyOfBook(t)
			if kind == table.Forwarded.Type {
				continue
			}
			if kind == table.LanesGrown.Type && i == len(keys)-1 {
				continue // of the year 2120
			}
			if b.drop(k); verify(t, b.client(t), 0).Sound() {
				t.Errorf("the %s at %s %s is not missed", kind, k.PK, k.SK)
			}
		}
	}
}

// The audit reports one item of each type whose form is newer than the code, or missing.
func TestItemsOfOtherFormsAreFound(t *testing.T) {
	for _, name := range []string{"newer", "missing"} {
		b, items := copyOfBook(t), copyOfBook(t).ofEachType(t)
		for _, keys := range items {
			if b.set(keys[0], table.AttrForm, table.Integer(events.Form+1)); name == "missing" {
				b.unset(keys[0], table.AttrForm)
			}
		}
		found := itemFindings(t, b)
		for kind, keys := range items {
			isOfForm := func(f audit.Finding) bool { return f.Attribute == table.AttrForm }
			if !slices.ContainsFunc(found[keys[0]], isOfForm) {
				t.Errorf("%s form of a %s: %+v", name, kind, found[keys[0]])
			}
		}
	}
}

// After these deletions, only the journal shows the event. Who also takes its entries out of the journal, and recomputes
// the checksum of the page, leaves no trace. docs/audit.md names them. An earlier digest shows it.
func TestDeletionsWithoutATrace(t *testing.T) {
	after := time.Duration(0)
	now := func() time.Time { return time.Now().Add(after) }
	client := newTable(t, now)
	copyOfBook(t).write(t, client)
	w := writer{t, newLedger(client, now)}
	w.open(ledger.OpenAccount{ID: "idle", Overdraft: events.Overdraft{Unlimited: true}})
	w.change(ledger.ChangeAccount{ID: "idle", State: new(events.StateFrozen)})
	project(t, client, projections.NewProjector(table.NewTable(client, books), now, nil))
	if err := list(t, client, now, rebuild.Scope{}, nil); err != nil {
		t.Fatal(err)
	}
	after = time.Minute // a digest reads behind the clock
	before := verify(t, client, 0)
	if !before.Sound() {
		t.Fatal(some(before.Findings))
	}
	check := sealed(t, client, now)
	if found := check(client); found != "" {
		t.Fatal(found)
	}
	var idle []table.Key // everything about the account
	for k := range system.Contents(t, client, books) {
		if account, ok := table.Account.Owner(k); ok && account == "idle" {
			idle = append(idle, k)
		}
	}
	for _, keys := range [][]table.Key{
		idle, {table.Change.Key("idle", 2), table.Current.Key("idle")},
		{table.Grant.Key("jane", "u-1", 3), table.Grant.Key("jane", "u-1", 2), table.Grant.Key("jane", "u-1", 1),
			table.Membership.Key("jane", "u-1")},
	} {
		b := book(system.Contents(t, client, books))
		for _, k := range keys {
			b.drop(k)
		}
		report := verify(t, b.client(t), 0)
		if report.Counts.Findings == 0 || report.ByCode[audit.JournalWrong] != report.Counts.Findings {
			t.Errorf("%v: %s", keys, some(report.Findings))
		}
		for _, page := range b.journalPages() {
			rest := slices.DeleteFunc(slices.Clone(b.entriesIn(page)), func(entry types.AttributeValue) bool {
				return slices.Contains(keys, eventOf(entry))
			})
			if len(rest) == 0 {
				b.drop(page)
				continue
			}
			b.set(page, table.AttrEntries, &types.AttributeValueMemberL{Value: rest})
			b.seal(page, "")
		}
		altered := newTable(t, now)
		b.write(t, altered)
		if report := verify(t, altered, 0); !report.Sound() {
			t.Errorf("%v and their entries: %s", keys, some(report.Findings))
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
	current, newest := table.Current.Key("firm"), table.Change.Key("firm", 5)
	b.addChange(events.AccountChanged{ID: "firm", Number: 5, State: events.StateFrozen, Overdraft: limit(100), Tagged: true,
		Highest: limit(500).Limits, At: time.Now().Add(-30 * time.Minute)})
	original := b[current]
	b.drop(current)
	client := b.client(t)
	if how := differs(verify(t, client, 0), wants{{audit.AccountCurrentWrong, current, ""}}); how != "" {
		t.Error(how)
	}

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
	item[table.AttrSK], item[table.AttrType] = table.String(current.SK), table.String(table.Current.Type)
	if !reflect.DeepEqual(item, original) {
		t.Errorf("the copy is %v, want %v", item, original)
	}
}

// listCodes are the codes of findings about lists of transactions and of accounts, and about the journal.
var listCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.ListedAccountBehind, audit.ListedAccountDiffers, audit.ListedAccountWithoutVersion,
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered, audit.EventUnseen,
}

// Void entries and pages, duplicate entries in the journal, and entries of metadata keys that are no longer indexed are
// not defects.
func TestHarmlessListItems(t *testing.T) {
	b := copyOfBook(t)
	entry, page := b.listKey("d-0"), b.journalPages()[0]
	for _, k := range []table.Key{table.Listed.Key("0", future, "d-0"),
		{PK: table.ListedMetadata.PK("0", "order", "1"), SK: entry.SK},
		{PK: table.Listed.PK(b.nextLane("d-0")), SK: entry.SK}} {
		b.put(k, b[entry])
		b.set(k, table.AttrVoid, table.Flag(true))
	}
	for _, id := range []events.KSUID{events.FirstKSUID(time.Now()), events.FirstKSUID(time.Now().Add(time.Second))} {
		again := table.Journal.Key(b.lanes().OfPage(id), string(id))
		b.put(again, b[page])
		b.seal(again, "")
	}
	void := table.Journal.Key("0", future)
	b.put(void, b[page])
	b.set(void, table.AttrVoid, table.Flag(true))
	b.set(void, table.AttrEntries, &types.AttributeValueMemberL{})
	tagged := func(account, key, as string, number int64) {
		k := table.Tagged.Key(account, key)
		b.put(k, b[table.Tagged.Key("past", "by")])
		b.set(k, table.AttrNumber, table.Integer(number))
		if b.unset(k, table.AttrPK2); as != "" {
			b.set(k, table.AttrPK2, table.String(table.Tagged.PK2(key, as)))
		}
	}
	tagged("past", "city", "Springfield", 1)
	tagged("firm", "city", "#", 2) // it has lost the key since
	tagged("jane", "by", "", 0)    // a rebuild found no metadata
	tagged("nobody", "by", "", 0)
	db := &readHook{Store: b.client(t)}
	if report := verify(t, db, 0); !report.Sound() || report.Unsettled > 0 || db.scans.Load() != audit.DefaultSegments {
		t.Errorf("%s with %d scan requests", some(report.Findings), db.scans.Load())
	}
	indexed = []string{"by"}
	defer func() { indexed = []string{"order", "by"} }()
	if report := verify(t, db, 0); !report.Sound() {
		t.Error(some(report.Findings))
	}
}

// Overdue holds are counted but are not findings.
func TestOverdueHoldsAreOnlyCounted(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	at := func(now time.Time) audit.Report {
		report, err := audit.New(audit.Options{Store: client, Table: books, Pause: noPause,
			Now: func() time.Time { return now }}).Run(t.Context())
		if err != nil || !report.Sound() {
			t.Fatalf("%s, %v", some(report.Findings), err)
		}
		return report
	}
	expires, err := events.ParseTime(b.text(openHold, "ExpiresAt"))
	if err != nil {
		t.Fatal(err)
	}
	for after, overdue := range map[time.Duration]int64{0: 0, 14 * time.Minute: 0, 16 * time.Minute: 1} {
		if report := at(expires.Add(after)); report.Overdue != overdue {
			t.Errorf("%v after its expiry: %d overdue", after, report.Overdue)
		}
	}
}

// What is young when an audit begins is examined after the scan. If it is not young any more, it must be listed.
func TestLongAuditFindsWhatWasYoung(t *testing.T) {
	all := slices.DeleteFunc(corruptions(t), func(c corruption) bool {
		return c.section != ofLists || !slices.ContainsFunc(c.wanted, isBehind)
	})
	tryEach(t, all, func(b book, wanted wants) string {
		var began atomic.Bool
		report, err := audit.New(audit.Options{Store: b.client(t), Table: books, Findings: 1000, Settle: 2 * time.Hour,
			Indexed: indexed, Pause: noPause, Now: func() time.Time {
				if !began.Swap(true) {
					return time.Now()
				}
				return time.Now().Add(3 * time.Hour)
			}}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return differs(report, append(wanted, b.checksums()...))
	})
}

// A rebuild of lists does not take an event that cannot be read for one that does not exist: its entries stay. Such an
// event does not end the rebuild: entries of others are repaired.
func TestEntryOfAnUnreadableEventStays(t *testing.T) {
	b := copyOfBook(t)
	asset, header, hold := table.Asset.Key("AAPL"), table.Transaction.Key("t-1"), table.Transaction.Key("h-some")
	for _, unreadable := range []table.Key{asset, header, hold} {
		b.set(unreadable, table.AttrChecksum, table.String("AAAAAAAAAAAAAAAAAAAAAA"))
	}
	entries := []table.Key{b.listKey("t-1"), b.listKey("h-some"), b.expiryKey("h-some"), b.listKey("t-2")}
	b.drop(entries[3])
	client := b.client(t)
	failed := 0
	err := list(t, client, nil, rebuild.Scope{}, func(r rebuild.Report) {
		if r.Err != nil {
			failed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	after := book(system.Contents(t, client, books))
	for _, event := range []table.Key{asset, header, hold} {
		page, _ := after.findEntry(event)
		entries = append(entries, page)
	}
	for _, entry := range entries {
		if after[entry] == nil || after[entry][table.AttrVoid] != nil {
			t.Errorf("%v is %v", entry, after[entry])
		}
	}
	if failed == 0 {
		t.Error("no failure reported")
	}
}
