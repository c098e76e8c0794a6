package verify

import (
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
	"ledger.example/ledger"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
)

// ofListCodes are the codes of lists of transactions and of the journal, whose pages are not named by their accounts.
var ofListCodes = []audit.Code{
	audit.ListEntryBehind, audit.ListEntryWrong, audit.ListEntryAlone, audit.JournalBehind, audit.JournalWrong,
}

// listed is the key of a transaction's entry in the list by time, or in that of some metadata.
func (b book) listed(transaction string, metadata ...string) table.Key {
	ksuid := textOf(b.leg(table.TransactionKey(transaction), 0), "ID")
	k := table.ListedKey(ksuid, transaction)
	if len(metadata) > 0 {
		k.PK = table.MetadataPK(metadata[0], metadata[1])
	}
	return k
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

// journal are copies of a page's entries. What do returns becomes the page's.
func (b book) journal(k table.Key, do func(all []ddb.Item) []ddb.Item) {
	var all []ddb.Item
	for _, e := range b[k][table.AttrEntries].(*types.AttributeValueMemberL).Value {
		all = append(all, maps.Clone(e.(*types.AttributeValueMemberM).Value))
	}
	var values []types.AttributeValue
	for _, e := range do(all) {
		values = append(values, ddb.Map(e))
	}
	b.set(k, table.AttrEntries, &types.AttributeValueMemberL{Value: values})
}

// pageOf is the page, and the place in it, where the journal has an event of a transaction.
func (b book) pageOf(event, transaction string) (page table.Key, at int) {
	for _, k := range b.pages() {
		for i, e := range b[k][table.AttrEntries].(*types.AttributeValueMemberL).Value {
			item := e.(*types.AttributeValueMemberM).Value
			if textOf(item, table.AttrEvent) == event && textOf(item, table.AttrTransaction) == transaction {
				return k, i
			}
		}
	}
	panic("the journal does not have " + transaction)
}

// unlisted are the findings of a page of the journal that is lost.
func (b book) unlisted(page table.Key) (wanted []want) {
	b.journal(page, func(all []ddb.Item) []ddb.Item {
		for _, e := range all {
			k := table.TransactionKey(textOf(e, table.AttrTransaction))
			if event := textOf(e, table.AttrEvent); event != "posted" && event != "held" {
				k.SK = table.OutcomeKey("").SK
			}
			wanted = append(wanted, want{audit.JournalBehind, k, ""})
		}
		return all
	})
	return wanted
}

// ofLists are seen between transactions and their lists, and the journal.
func ofLists() []corruption {
	entry := func(name, transaction string, metadata []string, code audit.Code, found string, do func(b book, k table.Key)) corruption {
		return corruption{name, func(b book) []want {
			k := b.listed(transaction, metadata...)
			do(b, k)
			return one(code, k, found)
		}}
	}
	// other is an entry under another key, of which the right one stays.
	other := func(name, transaction string, change func(b book, k *table.Key)) corruption {
		return corruption{name, func(b book) []want {
			from := b.listed(transaction)
			to := from
			change(b, &to)
			b.put(to, b[from])
			return one(audit.ListEntryAlone, to, "")
		}}
	}
	// changed is an entry of the journal that is another: the right one is missing then.
	changed := func(name, event, transaction string, of table.Key, do func(e ddb.Item)) corruption {
		return corruption{name, func(b book) []want {
			page, at := b.pageOf(event, transaction)
			b.journal(page, func(all []ddb.Item) []ddb.Item { do(all[at]); return all })
			return []want{{audit.JournalWrong, page, ""}, {audit.JournalBehind, of, ""}}
		}}
	}
	drop := func(b book, k table.Key) { b.drop(k) }
	order := []string{"order", "7"}
	return []corruption{
		entry("entry by time gone", "d-0", nil, audit.ListEntryBehind, "", drop),
		entry("entry by time of a hold gone", "h-open", nil, audit.ListEntryBehind, "", drop),
		entry("entry by metadata gone", "x-1", order, audit.ListEntryBehind, "", drop),
		entry("entry made void", "d-0", nil, audit.ListEntryBehind, "", func(b book, k table.Key) {
			b.set(k, table.AttrVoid, ddb.Flag(true))
		}),
		entry("hold listed as none", "h-part", nil, audit.ListEntryWrong, table.AttrHeld, func(b book, k table.Key) {
			b.unset(k, table.AttrHeld)
		}),
		entry("transaction listed as a hold", "x-1", order, audit.ListEntryWrong, table.AttrHeld, func(b book, k table.Key) {
			b.set(k, table.AttrHeld, ddb.Flag(true))
		}),
		other("entry of no transaction", "d-0", func(_ book, k *table.Key) {
			*k = table.ListedKey(table.FirstID(k.SK), "nothing")
		}),
		other("entry at another time", "d-0", func(_ book, k *table.Key) { *k = table.ListedKey(future, "d-0") }),
		other("entry in another part of the list", "d-0", func(_ book, k *table.Key) {
			k.PK = table.TransactionsPK((table.ListShard("d-0") + 1) % table.ListShards)
		}),
		other("entry of another value", "x-1", func(_ book, k *table.Key) { k.PK = table.MetadataPK("order", "8") }),
		other("entry of metadata that it lacks", "d-0", func(_ book, k *table.Key) { k.PK = table.MetadataPK("order", "7") }),
		other("entry of metadata that is not indexed", "x-1", func(_ book, k *table.Key) { k.PK = table.MetadataPK("city", "#") }),
		entry("unknown attribute of an entry", "d-0", nil, audit.UnknownAttribute, "Note", func(b book, k table.Key) {
			b.set(k, "Note", ddb.String("x"))
		}),
		{"entry without a KSUID", func(b book) []want {
			k := b.listed("d-0")
			item := b.drop(k)
			bad := table.ListedKey("nothing", "d-0")
			b.put(bad, item)
			return []want{{audit.WrongKey, bad, table.AttrSK}, {audit.ListEntryAlone, bad, ""}, {audit.ListEntryBehind, k, ""}}
		}},
		{"entry of the journal gone", func(b book) []want {
			page, at := b.pageOf("posted", "x-1")
			b.journal(page, func(all []ddb.Item) []ddb.Item { return slices.Delete(all, at, at+1) })
			return one(audit.JournalBehind, gold, "")
		}},
		{"page of the journal gone", func(b book) []want {
			page, _ := b.pageOf("held", "h-part")
			wanted := b.unlisted(page)
			b.drop(page)
			return wanted
		}},
		{"page of the journal made void", func(b book) []want {
			page, _ := b.pageOf("captured", "h-part")
			wanted := b.unlisted(page)
			b.set(page, table.AttrVoid, ddb.Flag(true))
			return wanted
		}},
		{"page of the journal without entries", func(b book) []want {
			page, _ := b.pageOf("posted", "x-1")
			wanted := b.unlisted(page)
			b.unset(page, table.AttrEntries)
			return append(wanted, want{audit.MissingAttribute, page, table.AttrEntries})
		}},
		{"entry of the journal of nothing", func(b book) []want {
			page, at := b.pageOf("posted", "x-1")
			b.journal(page, func(all []ddb.Item) []ddb.Item {
				bad := maps.Clone(all[at])
				bad[table.AttrTransaction] = ddb.String("nothing")
				return append(all[:len(all):len(all)], bad)
			})
			return one(audit.JournalWrong, page, "")
		}},
		changed("entry of the journal of another time", "posted", "x-1", gold, func(e ddb.Item) {
			e[table.AttrAt] = ddb.String(events.FormatTime(long()))
		}),
		changed("entry of the journal of another event", "held", "h-part", table.TransactionKey("h-part"), func(e ddb.Item) {
			e[table.AttrEvent] = ddb.String("posted")
		}),
		changed("entry of the journal of another end", "captured", "h-part", partEnd, func(e ddb.Item) {
			e[table.AttrEvent] = ddb.String("expired")
		}),
	}
}

// What is so young may still be listed.
func TestWhatIsYoungNeedNotBeListed(t *testing.T) {
	for _, c := range ofLists() {
		b := copyOfBook(t)
		isBehind := func(w want) bool { return strings.HasSuffix(string(w.code), "_behind") }
		if wanted := c.plant(b); slices.ContainsFunc(wanted, func(w want) bool { return !isBehind(w) }) {
			continue
		}
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
	if _, err := newLedger(client, nil).Post(t.Context(), ledger.PostTransfer{Annotation: note, From: "bank", To: "market",
		Asset: "USD", Quantity: amount(1)}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false, false} {
		v := views.NewViews(client, books)
		before, err := read(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		run := repair.New(repair.Config{Views: v, Lists: v, Journal: projections.NewLister(v, nil, nil, nil), Indexed: indexed,
			ListsOnly: true, Scope: repair.Scope{DryRun: dry}})
		if err := run.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := read(t.Context(), client)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(2) // the entry by time, and that of the journal
		if before[table.ListedKey(ksuidOf(before, "back-1"), "back-1")] != nil {
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

// ksuidOf is the KSUID of a transaction's first leg.
func ksuidOf(b book, transaction string) string {
	return textOf(b.leg(table.TransactionKey(transaction), 0), "ID")
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
	for _, at := range []string{textOf(b.leg(deposit, 0), "ID"), future} {
		b.put(table.JournalKey(at), b[page])
	}
	void := table.JournalKey(textOf(b.leg(deposit, 1), "ID"))
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
