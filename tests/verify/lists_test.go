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
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
	"ledger.example/tests/system"
)

// ofListCodes are the codes of lists of transactions and of the journal, whose pages are not named by their accounts.
var ofListCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryWithoutTransaction,
	audit.JournalBehind, audit.JournalWrong,
}

// listed is the key of a transaction's entry in the list by time.
func (b book) listed(transaction string) table.Key {
	return table.ListedKey(b.text(table.TransactionKey(transaction), "Legs[0].ID"), transaction)
}

// pages are the keys of the journal, in order.
func (b book) pages() (keys []table.Key) {
	for k := range b {
		if k.PK == table.JournalPK {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l table.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

// entriesIn are the entries of a page of the journal.
func (b book) entriesIn(page table.Key) []types.AttributeValue {
	return b[page][table.AttrEntries].(*types.AttributeValueMemberL).Value
}

// pageOf is the page, and the place in it, where the journal has an event of a transaction.
func (b book) pageOf(event, transaction string) (page table.Key, at int) {
	for _, k := range b.pages() {
		for i, e := range b.entriesIn(k) {
			entry := ddb.Read(e.(*types.AttributeValueMemberM).Value)
			if entry.Text(table.AttrEvent) == event && entry.Text(table.AttrTransaction) == transaction {
				return k, i
			}
		}
	}
	panic("the journal does not have " + transaction)
}

// unlisted are the findings of a page of the journal that is lost.
func (b book) unlisted(page table.Key) (wanted wants) {
	for _, e := range b.entriesIn(page) {
		entry := ddb.Read(e.(*types.AttributeValueMemberM).Value)
		k := table.TransactionKey(entry.Text(table.AttrTransaction))
		if event := entry.Text(table.AttrEvent); event != "posted" && event != "held" {
			k = table.OutcomeKey(entry.Text(table.AttrTransaction))
		}
		wanted = append(wanted, want{audit.JournalBehind, k, ""})
	}
	return wanted
}

// ofLists are seen between transactions and their lists, and the journal.
func (b book) ofLists() []corruption {
	deposited, bought, byOrder := b.listed("d-0"), b.listed("x-1"), b.listed("x-1")
	byOrder.PK = table.MetadataPK("order", "7")
	ofOpen, ofPart := b.listed("h-open"), b.listed("h-part")
	// other is an entry under another key, of which the right one stays.
	other := func(name string, from, to table.Key) corruption {
		return corruption{name, put(to, from), each(audit.ListEntryWithoutTransaction, to)}
	}
	by := func(entry table.Key, key, value string) table.Key {
		return table.Key{PK: table.MetadataPK(key, value), SK: entry.SK}
	}
	// changed is an entry of the journal that is another: the right one is missing then.
	changed := func(name, event, transaction string, of table.Key, attribute, value string) corruption {
		page, at := b.pageOf(event, transaction)
		return corruption{name, set(page, fmt.Sprintf("Entries[%d].%s", at, attribute), ddb.String(value)),
			wants{{audit.JournalWrong, page, ""}, {audit.JournalBehind, of, ""}}}
	}
	mistimed := table.ListedKey("nothing", "d-0")
	ofBought, at := b.pageOf("posted", "x-1")
	ofHeld, _ := b.pageOf("held", "h-part")
	ofCaptured, _ := b.pageOf("captured", "h-part")
	entries := func(of ...types.AttributeValue) change {
		return set(ofBought, table.AttrEntries, &types.AttributeValueMemberL{Value: of})
	}
	journaled := b.entriesIn(ofBought)
	nothing := maps.Clone(journaled[at].(*types.AttributeValueMemberM).Value)
	nothing[table.AttrTransaction] = ddb.String("nothing")
	return []corruption{
		{"entry by time gone", drop(deposited), each(audit.ListEntryBehind, deposited)},
		{"entry by time of a hold gone", drop(ofOpen), each(audit.ListEntryBehind, ofOpen)},
		{"entry by metadata gone", drop(byOrder), each(audit.ListEntryBehind, byOrder)},
		{"entry made void", set(deposited, table.AttrVoid, ddb.Flag(true)), each(audit.ListEntryBehind, deposited)},
		{"hold listed as none", unset(ofPart, table.AttrHeld), wants{{audit.ListEntryWrong, ofPart, table.AttrHeld}}},
		wrong("transaction listed as a hold", byOrder, table.AttrHeld, ddb.Flag(true), audit.ListEntryWrong),
		other("entry of no transaction", deposited, table.ListedKey(table.FirstID(deposited.SK), "nothing")),
		other("entry at another time", deposited, table.ListedKey(future, "d-0")),
		other("entry in another part of the list", deposited,
			table.Key{PK: table.TransactionsPK((table.ListShard("d-0") + 1) % table.ListShards), SK: deposited.SK}),
		other("entry of another value", bought, by(bought, "order", "8")),
		other("entry of metadata that it lacks", deposited, by(deposited, "order", "7")),
		other("entry of metadata that is not indexed", bought, by(bought, "city", "#")),
		wrong("unknown attribute of an entry", deposited, "Note", ddb.String("x"), audit.UnknownAttribute),
		{"entry without a KSUID", all(put(mistimed, deposited), drop(deposited)),
			wants{{audit.WrongKey, mistimed, table.AttrSK}, {audit.ListEntryWithoutTransaction, mistimed, ""},
				{audit.ListEntryBehind, deposited, ""}}},
		{"entry of the journal gone", entries(slices.Delete(slices.Clone(journaled), at, at+1)...),
			each(audit.JournalBehind, gold)},
		{"page of the journal gone", drop(ofHeld), b.unlisted(ofHeld)},
		{"page of the journal made void", set(ofCaptured, table.AttrVoid, ddb.Flag(true)), b.unlisted(ofCaptured)},
		{"page of the journal without entries", unset(ofBought, table.AttrEntries),
			append(b.unlisted(ofBought), want{audit.MissingAttribute, ofBought, table.AttrEntries})},
		{"entry of the journal of nothing", entries(append(slices.Clone(journaled), ddb.Map(nothing))...),
			each(audit.JournalWrong, ofBought)},
		changed("entry of the journal of another time", "posted", "x-1", gold, table.AttrAt, events.FormatTime(long())),
		changed("entry of the journal of another event", "held", "h-part", table.TransactionKey("h-part"),
			table.AttrEvent, "posted"),
		changed("entry of the journal of another end", "captured", "h-part", partEnd, table.AttrEvent, "expired"),
	}
}

// What is so young may still be listed.
func TestWhatIsYoungNeedNotBeListed(t *testing.T) {
	for _, c := range copyOfBook(t).ofLists() {
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

// A transaction with an effective date is listed at that date, and in the journal when it was recorded. A dry run of a
// rebuild writes nothing, and a second run finds nothing.
func TestRebuiltListsOfBackdatedTransactions(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	effective := long()
	note := about("back-1")
	note.EffectiveAt = &effective
	_, err := newLedger(client, nil).Post(t.Context(), transfer(note, "bank", "market", "USD", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false, false} {
		v := views.NewViews(client, books)
		before := book(system.Contents(t, client, books))
		run := repair.New(repair.Config{Views: v, Lists: v, Journal: projections.NewLister(v, nil, nil, nil),
			Indexed: indexed, ListsOnly: true, Scope: repair.Scope{DryRun: dry}})
		if err := run.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := book(system.Contents(t, client, books))
		want := int64(2) // the entry by time, and that of the journal
		if before[before.listed("back-1")] != nil {
			want = 0
		}
		n := run.Counts()
		if n.Different+n.Behind != want || n.Failed > 0 || dry && !reflect.DeepEqual(before, after) ||
			!dry && len(after)-len(before) != int(want) {
			t.Errorf("dry %t: %+v, %d items and then %d", dry, n, len(before), len(after))
		}
	}
	report := verify(t, client, 0)
	for _, code := range ofListCodes {
		if report.ByCode[code] > 0 {
			t.Errorf("%+v", report)
		}
	}
}

// What is void is no defect, nor is what stands in the journal twice, nor an entry of metadata that was indexed once.
func TestWhatListsMayHave(t *testing.T) {
	b := copyOfBook(t)
	entry, page := b.listed("d-0"), b.pages()[0]
	for _, k := range []table.Key{table.ListedKey(future, "d-0"), {PK: table.MetadataPK("order", "1"), SK: entry.SK},
		{PK: table.TransactionsPK((table.ListShard("d-0") + 1) % table.ListShards), SK: entry.SK}} {
		b.put(k, b[entry])
		b.set(k, table.AttrVoid, ddb.Flag(true))
	}
	for _, at := range []string{b.text(deposit, "Legs[0].ID"), future} {
		b.put(table.JournalKey(at), b[page])
	}
	void := table.JournalKey(b.text(deposit, "Legs[1].ID"))
	b.put(void, b[page])
	b.set(void, table.AttrVoid, ddb.Flag(true))
	b.set(void, table.AttrEntries, &types.AttributeValueMemberL{})
	store := &scans{Store: b.client(t)}
	if report := verify(t, store, 0); !report.Sound() || report.Unsettled > 0 || store.n.Load() != audit.DefaultSegments {
		t.Errorf("%+v after %d scans", report, store.n.Load())
	}
	indexed = []string{"by"}
	defer func() { indexed = []string{"order", "by"} }()
	if report := verify(t, store, 0); !report.Sound() {
		t.Errorf("%+v", report)
	}
}
