package verify

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/projections/repair"
	"ledger.example/tests/system"
)

// listCodes are the codes of findings about lists of transactions and about the journal.
var listCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered,
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
		b.seal(again, "")
	}
	void := store.Journal.Key(future)
	b.put(void, b[page])
	b.set(void, store.AttrVoid, store.Flag(true))
	b.set(void, store.AttrEntries, &types.AttributeValueMemberL{})
	db := &readHook{Store: b.client(t)}
	if report := verify(t, db, 0); !report.Sound() || report.Unsettled > 0 || db.scans.Load() != audit.DefaultSegments {
		t.Errorf("%+v with %d scan requests", report, db.scans.Load())
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

// What is young when an audit begins is examined after the scan. If it is not young any more, it must be listed.
func TestLongAuditFindsWhatWasYoung(t *testing.T) {
	for _, c := range corruptions(t) {
		if c.section != "lists" || !slices.ContainsFunc(c.wanted, isBehind) {
			continue
		}
		b := copyOfBook(t)
		c.plant(b)
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
		expect(t, report, append(b.checksumFindings(), c.wanted...))
	}
}

// A rebuild of lists does not take an event that cannot be read for one that does not exist: its entry stays.
func TestEntryOfAnUnreadableEventStays(t *testing.T) {
	b := copyOfBook(t)
	b.set(store.Asset.Key("AAPL"), store.AttrChecksum, store.String("AAAAAAAAAAAAAAAAAAAAAA"))
	client := b.client(t)
	failed := 0
	err := list(t, client, nil, repair.Scope{}, func(r repair.Report) {
		if r.Err != nil {
			failed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	after := book(system.Contents(t, client, books))
	if page, _ := after.findEntry(store.Asset.Key("AAPL")); failed == 0 || after[page][store.AttrVoid] != nil {
		t.Errorf("%d failures reported; the page is %v", failed, after[page])
	}
}
