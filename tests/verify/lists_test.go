package verify

import (
	"fmt"
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
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/tests/system"
)

// listCodes are the codes of findings about lists of transactions and about the journal.
var listCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.JournalBehind, audit.JournalWrong, audit.JournalAltered,
}

// listKey returns the key of a transaction's entry in the list by time.
func (b book) listKey(transaction string) store.Key {
	return store.Listed.Key(b.text(store.Transaction.Key(transaction), "Legs[0].ID"), transaction)
}

// journalPages returns the keys of the pages of the journal, in order.
func (b book) journalPages() (keys []store.Key) {
	for k := range b {
		if k.PK == store.Journal.PK() {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l store.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

// entriesIn returns the entries of a page of the journal.
func (b book) entriesIn(page store.Key) []types.AttributeValue {
	return b[page][store.AttrEntries].(*types.AttributeValueMemberL).Value
}

// findEntry returns the page of the journal with an event of a transaction, and the index of the entry in the page.
func (b book) findEntry(event, transaction string) (page store.Key, at int) {
	for _, k := range b.journalPages() {
		for i, e := range b.entriesIn(k) {
			entry := store.Read(e.(*types.AttributeValueMemberM).Value)
			if entry.Text(store.AttrEvent) == event && entry.Text(store.AttrTransaction) == transaction {
				return k, i
			}
		}
	}
	panic("the journal does not have " + transaction)
}

// missingPageFindings returns the findings that a deleted page of the journal causes.
func (b book) missingPageFindings(page store.Key) (wanted wants) {
	for _, e := range b.entriesIn(page) {
		entry := store.Read(e.(*types.AttributeValueMemberM).Value)
		k := store.Transaction.Key(entry.Text(store.AttrTransaction))
		if event := entry.Text(store.AttrEvent); event != "posted" && event != "held" {
			k = store.Outcome.Key(entry.Text(store.AttrTransaction))
		}
		wanted = append(wanted, want{audit.JournalBehind, k, ""})
	}
	return wanted
}

// listCorruptions are differences between transactions, their lists, and the journal.
func (b book) listCorruptions() []corruption {
	deposited, bought, byOrder := b.listKey("d-0"), b.listKey("x-1"), b.listKey("x-1")
	byOrder.PK = store.ListedMetadata.PK("order", "7")
	ofOpen, ofPart := b.listKey("h-open"), b.listKey("h-part")
	// other copies an entry to another key.
	other := func(name string, from, to store.Key) corruption {
		return corruption{name, put(to, from), atItems(audit.ListEntryWithoutTransaction, to)}
	}
	by := func(entry store.Key, key, value string) store.Key {
		return store.Key{PK: store.ListedMetadata.PK(key, value), SK: entry.SK}
	}
	// changed alters an entry of the journal, so that the right one is missing.
	changed := func(name, event, transaction string, of store.Key, attribute, value string) corruption {
		page, at := b.findEntry(event, transaction)
		return corruption{name, all(set(page, fmt.Sprintf("Entries[%d].%s", at, attribute), store.String(value)), sealed(page)),
			wants{{audit.JournalWrong, page, ""}, {audit.JournalBehind, of, ""}}}
	}
	mistimed := store.Listed.Key("nothing", "d-0")
	ofBought, at := b.findEntry("posted", "x-1")
	ofHeld, _ := b.findEntry("held", "h-part")
	ofCaptured, _ := b.findEntry("captured", "h-part")
	entries := func(of ...types.AttributeValue) change {
		return all(set(ofBought, store.AttrEntries, &types.AttributeValueMemberL{Value: of}), sealed(ofBought))
	}
	journaled := b.entriesIn(ofBought)
	nothing := maps.Clone(journaled[at].(*types.AttributeValueMemberM).Value)
	nothing[store.AttrTransaction] = store.String("nothing")
	return []corruption{
		{"entry by time gone", drop(deposited), atItems(audit.ListEntryBehind, deposited)},
		{"entry by time of a hold gone", drop(ofOpen), atItems(audit.ListEntryBehind, ofOpen)},
		{"entry by metadata gone", drop(byOrder), atItems(audit.ListEntryBehind, byOrder)},
		{"entry made void", set(deposited, store.AttrVoid, store.Flag(true)), atItems(audit.ListEntryBehind, deposited)},
		{"hold listed as none", unset(ofPart, store.AttrHeld), wants{{audit.ListEntryWrong, ofPart, store.AttrHeld}}},
		wrong("transaction listed as a hold", byOrder, store.AttrHeld, store.Flag(true), audit.ListEntryWrong),
		other("entry of no transaction", deposited, store.Listed.Key(store.FirstID(deposited.SK), "nothing")),
		other("entry at another time", deposited, store.Listed.Key(future, "d-0")),
		other("entry in another part of the list", deposited,
			store.Key{PK: store.TransactionsPK((store.Shard("d-0") + 1) % store.Shards), SK: deposited.SK}),
		other("entry of another value", bought, by(bought, "order", "8")),
		other("entry of metadata that it lacks", deposited, by(deposited, "order", "7")),
		other("entry of metadata that is not indexed", bought, by(bought, "city", "#")),
		wrong("unknown attribute of an entry", deposited, "Note", store.String("x"), audit.UnknownAttribute),
		{"entry without a KSUID", all(put(mistimed, deposited), drop(deposited)),
			wants{{audit.WrongKey, mistimed, store.AttrSK}, {audit.ListEntryWithoutTransaction, mistimed, ""},
				{audit.ListEntryBehind, deposited, ""}}},
		{"entry of the journal gone", entries(slices.Delete(slices.Clone(journaled), at, at+1)...),
			atItems(audit.JournalBehind, gold)},
		{"page of the journal moved", movedTo(ofBought, store.Journal.Key(future)),
			atItems(audit.JournalAltered, store.Journal.Key(future))},
		{"page of the journal gone", drop(ofHeld), b.missingPageFindings(ofHeld)},
		{"page of the journal made void", set(ofCaptured, store.AttrVoid, store.Flag(true)), b.missingPageFindings(ofCaptured)},
		{"page of the journal without entries", unset(ofBought, store.AttrEntries),
			append(b.missingPageFindings(ofBought), want{audit.MissingAttribute, ofBought, store.AttrEntries})},
		{"entry of the journal of nothing", entries(append(slices.Clone(journaled), store.Map(nothing))...),
			atItems(audit.JournalWrong, ofBought)},
		changed("entry of the journal of another time", "posted", "x-1", gold, store.AttrAt, events.FormatTime(longAgo())),
		changed("entry of the journal of another event", "held", "h-part", store.Transaction.Key("h-part"),
			store.AttrEvent, "posted"),
		changed("entry of the journal of another end", "captured", "h-part", partEnd, store.AttrEvent, "expired"),
	}
}

// A young transaction that is missing from lists or from the journal is unsettled, not a finding.
func TestYoungTransactionsNeedNotBeListed(t *testing.T) {
	for _, c := range copyOfBook(t).listCorruptions() {
		if slices.ContainsFunc(c.wanted, func(w want) bool { return !isBehind(w) }) {
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
		sealed(again)(b)
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
