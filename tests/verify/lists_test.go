package verify

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/tests/system"
)

// listCodes are the codes of findings about lists of transactions and about the journal.
var listCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered,
}

// A young transaction that is missing from lists or from the journal is unsettled, not a finding.
func TestYoungTransactionsNeedNotBeListed(t *testing.T) {
	for _, c := range corruptions(t) {
		if c.section != "lists" || slices.ContainsFunc(c.wanted, func(w want) bool { return !isBehind(w) }) {
			continue
		}
		b := copyOfBook(t)
		c.plant(b)
		if report := verify(t, b.client(t), 2*time.Hour); !report.Sound() || report.Unsettled == 0 {
			t.Errorf("%s: %+v", c.name, report)
		}
	}
}

// A rebuild lists a transaction at its effective date, and in the journal at the time when it was recorded. A dry run
// writes nothing, and a second run changes nothing.
func TestRebuiltListsOfBackdatedTransactions(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	effective := longAgo()
	note := about("back-1")
	note.EffectiveAt = &effective
	_, err := newLedger(client, nil).Post(t.Context(), transfer(note, "bank", "market", "USD", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false, false} {
		v := store.NewTable(client, books)
		before := book(system.Contents(t, client, books))
		run := repair.New(repair.Config{Table: v, Append: projections.NewLister(v, nil, nil, nil).Append,
			Indexed: indexed, ListsOnly: true, Scope: repair.Scope{DryRun: dry}})
		if err := run.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := book(system.Contents(t, client, books))
		want := int64(2) // the entries in the list by time and in the journal
		if before[before.listKey("back-1")] != nil {
			want = 0
		}
		n := run.Counts()
		if n.Different+n.Behind != want || n.Failed > 0 || dry && !reflect.DeepEqual(before, after) ||
			!dry && len(after)-len(before) != int(want) {
			t.Errorf("dry %t: %+v, %d items and then %d", dry, n, len(before), len(after))
		}
	}
	report := verify(t, client, 0)
	for _, code := range listCodes {
		if report.ByCode[code] > 0 {
			t.Errorf("%+v", report)
		}
	}
}

// Void entries and pages, duplicate entries in the journal, and entries of metadata keys that are no longer indexed are
// not defects.
func TestHarmlessListItems(t *testing.T) {
	b := copyOfBook(t)
	entry, page := b.listKey("d-0"), b.journalPages()[0]
	for _, k := range []store.Key{store.Listed.Key(future, "d-0"), {PK: store.ListedMetadata.PK("order", "1"), SK: entry.SK},
		{PK: store.TransactionsPK((store.Shard("d-0") + 1) % store.Shards), SK: entry.SK}} {
		b.put(k, b[entry])
		b.set(k, store.AttrVoid, store.Flag(true))
	}
	for _, id := range []events.KSUID{events.FirstKSUID(time.Now()), events.FirstKSUID(time.Now().Add(time.Second))} {
		again := store.Journal.Key(string(id))
		b.put(again, b[page])
		sealed(again, "")(b)
	}
	void := store.Journal.Key(future)
	b.put(void, b[page])
	b.set(void, store.AttrVoid, store.Flag(true))
	b.set(void, store.AttrEntries, &types.AttributeValueMemberL{})
	db := &scanCounter{Store: b.client(t)}
	if report := verify(t, db, 0); !report.Sound() || report.Unsettled > 0 || db.n.Load() != audit.DefaultSegments {
		t.Errorf("%+v with %d scan requests", report, db.n.Load())
	}
	indexed = []string{"by"}
	defer func() { indexed = []string{"order", "by"} }()
	if report := verify(t, db, 0); !report.Sound() {
		t.Errorf("%+v", report)
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
			t.Fatalf("%+v, %v", report, err)
		}
		return report
	}
	expires, err := events.ParseTime(b.text(openHold, "ExpiresAt"))
	if err != nil {
		t.Fatal(err)
	}
	for after, overdue := range map[time.Duration]int64{0: 0, 14 * time.Minute: 0, 16 * time.Minute: 1} {
		if report := at(expires.Add(after)); report.Overdue != overdue {
			t.Errorf("%v after its expiry: %+v", after, report)
		}
	}
}
