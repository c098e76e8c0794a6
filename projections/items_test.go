package projections

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

// A stored is a kind of item: an example, its decoder and its encoder.
type stored struct {
	item   func() table.Item
	decode func(table.Item) (any, error)
	encode func(any) table.Item
	unread []string // attributes that decode ignores
}

func storedAs[T any](sound T, encode func(T) table.Item, decode func(table.Item) (T, error), unread ...string) stored {
	return stored{
		item:   func() table.Item { return encode(sound) },
		decode: func(i table.Item) (any, error) { return decode(i) },
		encode: func(v any) table.Item { return encode(v.(T)) },
		unread: unread,
	}
}

func everyStored() []stored {
	const id = events.KSUID("3MPV4ayv13ashRkJEbgEzgLbawj")
	key := events.Pair{Account: "jane", Asset: "USD"}
	fold := Fold{
		Through:     id,
		Credits:     events.NewAmount(12),
		Debits:      events.NewAmount(5),
		Expenditure: events.NewAmount(-7),
		Count:       3,
	}
	balance := Balance{
		Pair:       key,
		Version:    7,
		Base:       fold,
		Seal:       fold,
		Head:       fold,
		First:      id,
		Unfinished: true,
	}
	membership := Membership{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 7}
	listed := func(e ListedEntry) table.Item { return listedItem(table.ListedMetadata.PK("0", "order", "#1001"), e) }
	return []stored{
		storedAs(balance, balanceItem, writable(decodeBalance), table.AttrPK2, table.AttrAccount, table.AttrAsset),
		storedAs(Balance{Pair: key, Version: 1}, balanceItem, writable(decodeBalance), table.AttrPK2,
			table.AttrAccount, table.AttrAsset),
		storedAs(Segment{Pair: key, After: id, Fold: fold}, segmentItem, decodeSegment),
		storedAs(Summary{Account: "jane", Version: 7, Assets: 3, Holdings: 2, First: id}, summaryItem,
			writable(decodeSummary)),
		storedAs(membership, membershipItem, decodeMembership, table.AttrPK2, table.AttrAccount, table.AttrUser,
			table.AttrNumber),
		storedAs(Membership{Account: "jane", User: "ann", Number: 8}, membershipItem, decodeMembership,
			table.AttrPK2, table.AttrAccount, table.AttrUser, table.AttrNumber),
		storedAs(ListedEntry{ID: id, Transaction: "t-1", Held: true, Void: true}, listed,
			decodeListedEntry, table.AttrPK),
		storedAs(ListedEntry{ID: id, Transaction: "t-1"}, listed, decodeListedEntry, table.AttrPK),
		storedAs(JournalPage{ID: id, Void: true, Entries: []JournalEntry{
			{table.Transaction.Key("t-1"), id.Time()},
			{table.Outcome.Key("t-2"), id.Time().Add(time.Microsecond)},
			{table.GroupGrant.Key("desk", "ann", 7), id.Time()},
		}}, journalItem, decodeJournal),
	}
}

// Updating even the largest balance costs one write unit, and none in an index.
func TestLargestBalanceCostsOneWriteUnit(t *testing.T) {
	longest := strings.Repeat("x", events.IDChars)
	id, most := events.KSUID("3MPV4ayv13ashRkJEbgEzgLbawj"), events.MaxFolded()
	fold := Fold{Through: id, Credits: most, Debits: most, Expenditure: most.Neg(), Count: 1e12}
	b := Balance{
		Pair: events.Pair{
			Account: longest,
			Asset:   longest,
		}, Version: 1e12, Seal: fold, Head: fold, First: id, Unfinished: true,
	}
	before := balanceItem(b)
	b.Base = fold
	after := balanceItem(b)
	if bytes := max(table.SizeOf(before), table.SizeOf(after)); table.TableUnits(bytes, false) != 1 {
		t.Errorf("%d bytes", bytes)
	}
	for _, x := range table.Indexes() {
		if !reflect.DeepEqual(tabletest.Entry(x, before), tabletest.Entry(x, after)) {
			t.Errorf("%s: the entry changes", x.Name)
		}
	}
}

// An item of a newer form is refused as such, and one without a form as malformed.
func TestOtherFormsAreRefused(t *testing.T) {
	for _, s := range everyStored() {
		for _, form := range []table.Item{
			{table.AttrForm: table.Integer(events.Form + 1)}, {table.AttrForm: table.Integer(0)},
			{table.AttrForm: table.String("1")}, {},
		} {
			item, wanted := s.item(), table.ErrMalformedItem
			delete(item, table.AttrForm)
			maps.Copy(item, form)
			if table.DigitsOf(form[table.AttrForm]) > "1" {
				wanted = table.ErrNewerForm
			}
			if v, err := s.decode(item); !errors.Is(err, wanted) {
				t.Errorf("%v was decoded as %+v, %v", item, v, err)
			}
		}
	}
}

// FuzzDecodeItem replaces, adds or removes one attribute of a projection's item, or of a fold in it. If the item still
// decodes, it must survive a round trip. Otherwise the error must name the attribute, or of a page of the journal the
// checksum over it.
func FuzzDecodeItem(f *testing.F) {
	f.Fuzz(func(t *testing.T, which, at uint8, nested bool, value string, kind uint8) {
		all := everyStored()
		s := all[int(which)%len(all)]
		item := s.item()
		damaged := item
		if r := table.Read(item); nested && r.Has(table.AttrHead) {
			damaged = r.Map(table.AttrHead)
		} else if nested && r.Has(table.AttrEntries) {
			damaged = r.Maps(table.AttrEntries)[1]
		}
		names := slices.Sorted(maps.Keys(damaged))
		name := names[int(at)%len(names)]
		tabletest.Damage(damaged, name, value, kind)
		v, err := s.decode(item)
		if err != nil {
			named := strings.Contains(err.Error(), name) || name == table.AttrPK || name == table.AttrSK ||
				name == table.AttrThrough ||
				item[table.AttrEntries] != nil && strings.Contains(err.Error(), table.AttrChecksum)
			isNewer := name == table.AttrForm && errors.Is(err, table.ErrNewerForm)
			if !isNewer && (!errors.Is(err, table.ErrMalformedItem) || !named) {
				t.Errorf("%s is damaged, and the error is %v", name, err)
			}
			return
		}
		again := s.encode(v)
		if back, err := s.decode(again); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%#v was encoded, and decoded as %#v, %v", v, back, err)
		}
		for name, value := range again {
			if !slices.Contains(s.unread, name) && !reflect.DeepEqual(item[name], value) {
				t.Errorf("%s was %#v, and is encoded as %#v", name, item[name], value)
			}
		}
	})
}

// FuzzDecodePosting checks that decodePosting reads the same figures as decoding the complete event, or fails, too.
func FuzzDecodePosting(f *testing.F) {
	f.Fuzz(func(t *testing.T, sk, kind, version, quantity, cost string) {
		key := events.Pair{Account: "jane", Asset: "USD"}
		figures := table.Item{
			table.AttrSK: table.String(sk), table.AttrType: table.String(kind), table.AttrForm: table.Digits(version),
			"Quantity": table.Digits(quantity), "Cost": table.Digits(cost),
			"Transaction": table.String("t-1"), "Kind": table.String("transfer"),
		}
		_, asset, id, _ := table.Posting.Parse(table.Key{PK: "ACCOUNT#jane", SK: sk})
		sound := events.PostingRecorded{Transaction: "t-1", Kind: events.KindTransfer,
			Leg: events.Leg{ID: events.KSUID(id), Account: "jane", Asset: asset}}
		sound.Quantity, _ = events.ParseAmount(quantity, events.PostedDigits)
		sound.Cost, _ = events.ParseAmount(cost, events.PostedDigits)
		figures[table.AttrChecksum] = table.String(events.Checksum(sound))
		p, err := decodePosting(key, figures)
		complete := maps.Clone(figures)
		complete[table.AttrPK], complete[table.AttrSK2] = table.String("ACCOUNT#jane"), table.String(table.Posting.SK2(id))
		for name, text := range map[string]string{"ID": id, "Account": "jane", "Asset": asset} {
			complete[name] = table.String(text)
		}
		e, completeErr := table.DecodeEvent(complete)
		posting, _ := e.(events.PostingRecorded)
		wanted := completeErr == nil && posting.Asset == key.Asset
		if wanted != (err == nil) ||
			wanted && (p.ID != posting.ID || p.Quantity != posting.Quantity || p.Cost != posting.Cost) {
			t.Errorf("%v is decoded as %v, %v; the complete event as %v, %v", figures, p, err, e, completeErr)
		}
	})
}

// A page of the journal that was moved to another key, or whose entries are in another order, is refused: readers would
// miss entries.
func TestAlteredPageOfTheJournalIsRefused(t *testing.T) {
	id := events.FirstKSUID(time.Unix(1_790_000_000, 0))
	page := JournalPage{ID: id, Entries: []JournalEntry{
		{table.Transaction.Key("t-1"), id.Time()}, {table.Transaction.Key("t-2"), id.Time()},
	}}
	moved, reversed := journalItem(page), journalItem(page)
	moved[table.AttrSK] = table.String(table.Journal.Key("0", string(events.FirstKSUID(id.Time().Add(time.Hour)))).SK)
	entries := table.Read(reversed).Maps(table.AttrEntries)
	slices.Reverse(entries)
	reversed[table.AttrEntries] = table.Maps(entries)
	for name, item := range map[string]table.Item{"moved": moved, "reversed": reversed} {
		if p, err := decodeJournal(item); !errors.Is(err, table.ErrMalformedItem) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// An entry must free the memory of postings that the seal has passed: its capacity must match its weight.
func TestSealedPostingsLeaveTheCache(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	id := func(n int) events.KSUID { return events.FirstKSUID(start.Add(time.Duration(n) * time.Millisecond)) }
	above := &tail{}
	for i := 1; i <= cachedAboveMax+1; i++ {
		above.add(Posting{ID: id(i)}, id(i-1))
	}
	c, b := balanceCache{entries: make(map[events.Pair]*cacheEntry)}, Balance{Seal: Fold{Through: id(cachedAboveMax)}}
	c.Commit(&cacheEntry{}, b, above, nil)
	e, ok := c.Lookup(b)
	if !ok || !e.complete || len(e.above) != 1 || cap(e.above) > 64 || e.weight() != entryWeight+1 || c.weight != 0 {
		t.Errorf("cached %t, complete %t, %d postings, capacity %d, weight %d", ok, e.complete, len(e.above),
			cap(e.above), e.weight())
	}
}

// A refold that reads ever more postings above the seal keeps no more of them than the cache can have.
func TestTailIsBounded(t *testing.T) {
	var above tail
	most := 0
	for range 3 * cachedAboveMax {
		above.add(Posting{ID: "1"}, "")
		most = max(most, len(above.postings))
	}
	if most != cachedAboveMax {
		t.Errorf("it kept %d postings", most)
	}
}
