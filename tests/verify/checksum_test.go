package verify

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/tests/full"
)

// ofOneItem are the codes of what is wrong with an item by itself.
var ofOneItem = []audit.Code{
	audit.UnknownItem, audit.UnknownAttribute, audit.MissingAttribute, audit.WrongType, audit.WrongValue,
	audit.WrongKey,
	audit.ChecksumDiffers,
}

// faults are the keys of the items that are wrong by themselves, in a table of those items.
func faults(t *testing.T, b book) map[table.Key][]audit.Finding {
	t.Helper()
	found := make(map[table.Key][]audit.Finding)
	for _, f := range verify(t, b.client(t), 0).Findings {
		if slices.Contains(ofOneItem, f.Code) {
			found[f.Key] = append(found[f.Key], f)
		}
	}
	return found
}

// eventsEach is how many events are in one table, which is audited once.
const eventsEach = 25

// The ledger and the audit compute the checksum of every event alike, by code that they don't share.
func TestTheLedgerAndTheAuditAgreeOnChecksums(t *testing.T) {
	full.Checks(20)
	rapid.Check(t, func(r *rapid.T) {
		b := make(book)
		for range eventsEach {
			e := eventstest.Event().Draw(r, "event")
			b[ddb.EventKey(e)] = ddb.EventItem(e)
		}
		for k, f := range faults(t, b) {
			t.Errorf("%v: %+v", b[k], f)
		}
	})
}

// Whatever one attribute of an event is changed to, the decoder refuses the item and the audit names it.
func TestEveryChangeOfAnEventIsFound(t *testing.T) {
	full.Checks(20)
	rapid.Check(t, func(r *rapid.T) {
		b := make(book)
		for range eventsEach {
			item := ddb.EventItem(eventstest.Event().Draw(r, "event"))
			alter(r, item, true)
			key, err := ddb.KeyOf(item)
			if err != nil {
				r.Fatal(err)
			}
			if e, err := ddb.DecodeEvent(item); err == nil {
				t.Errorf("%v is decoded as %+v", item, e)
			}
			b[key] = item
		}
		found := faults(t, b)
		for k, item := range b {
			if len(found[k]) == 0 {
				t.Errorf("nothing is wrong with %v", item)
			}
		}
	})
}

// inKeys can be other texts only, or no such item can be put.
var inKeys = []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2}

// alter changes, removes or adds one attribute of an item, or one in a map or list in it.
func alter(t *rapid.T, item ddb.Item, outermost bool) {
	if rapid.IntRange(0, 9).Draw(t, "adds") == 0 {
		item["New"+eventstest.ID().Draw(t, "name")] = ddb.String("new")
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(item))).Draw(t, "attribute")
	if outermost && slices.Contains(inKeys, name) {
		item[name] = ddb.String(ddb.Read(item).Text(name) + rapid.SampledFrom([]string{"x", "#1", "0"}).Draw(t, "more"))
		return
	}
	if rapid.IntRange(0, 5).Draw(t, "removes") == 0 {
		delete(item, name)
		return
	}
	item[name] = other(t, item[name])
}

// other returns another value than v.
func other(t *rapid.T, v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		inner := maps.Clone(v.Value)
		alter(t, inner, false)
		return ddb.Map(inner)
	case *types.AttributeValueMemberL:
		list := slices.Clone(v.Value)
		switch i := rapid.IntRange(0, len(list)-1).Draw(t, "element"); rapid.IntRange(0, 2).Draw(t, "of the list") {
		case 0:
			list = slices.Delete(list, i, i+1)
		case 1:
			list[0], list[len(list)-1] = list[len(list)-1], list[0]
		default:
			list[i] = other(t, list[i])
		}
		return &types.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberN:
		plus, err := events.ParseAmount(v.Value, events.FoldedDigits)
		if err != nil {
			t.Fatal(err)
		}
		if plus, err = plus.Add(events.NewAmount(rapid.SampledFrom([]int64{-1, 1, 10}).Draw(t, "plus"))); err != nil {
			t.Fatal(err)
		}
		return rapid.SampledFrom([]types.AttributeValue{ddb.Amount(plus), ddb.String(v.Value)}).Draw(t, "number")
	case *types.AttributeValueMemberS:
		others := []string{
			v.Value + "x", "x" + v.Value, v.Value[min(1, len(v.Value)):], strings.ToUpper(v.Value), "viewer", "owner",
			"trade", "transfer", "jane", "unlimited",
			"2026-11-21T09:06:39.123456Z", `{"a":1}`, "1:def", string(events.FirstKSUID(time.Unix(1_700_000_000, 0))),
			"MemberGranted", "MemberRevoked", "HoldCaptured", "HoldReleased", "released", "expired", "closed",
		}
		others = slices.DeleteFunc(others, func(s string) bool { return s == v.Value })
		return ddb.String(rapid.SampledFrom(others).Draw(t, "text"))
	}
	t.Fatalf("an event with a %v", reflect.TypeOf(v))
	return nil
}

// downgrade takes the checksums of events away and sets their version back to 1.
func downgrade(keys ...table.Key) change {
	return func(b book) {
		for _, k := range keys {
			b[k] = withoutChecksum(b[k])
		}
	}
}

// registered sets the time of an asset, as if it had been registered at it.
func registered(k table.Key, at time.Time) change {
	return func(b book) {
		b.set(k, "At", ddb.String(events.FormatTime(at)))
		if e, ok := event(b[k]); ok && b[k][table.AttrChecksum] != nil {
			b[k] = ddb.EventItem(e)
		}
	}
}

// long is before any event of the book, by more than a deployment takes.
func long() time.Time { return time.Now().Add(-48 * time.Hour) }

// ofDowngrades are events that say they are older than checksums.
func (b book) ofDowngrades() []corruption {
	downgraded := func(name string, before change, keys ...table.Key) corruption {
		return corruption{name, all(before, downgrade(keys...)), ofChecksums(audit.ChecksumMissing, keys...)}
	}
	// since is one in a table that has had checksums for long.
	since := func(name string, before change, keys ...table.Key) corruption {
		return downgraded(name, all(registered(usd, long()), before), keys...)
	}
	nothing := all()
	revocation, postings := table.GrantKey("jane", "u-2", 2), b.postingsOf(gold)
	return []corruption{
		since("revocation altered, its checksum taken away", set(revocation, "Actor", ddb.String("nobody")), revocation),
		since("header altered, its checksum taken away", set(gold, "Actor", ddb.String("nobody")), gold),
		downgraded("checksum of a header taken away", nothing, gold),
		downgraded("checksum of a posting taken away", nothing, postings[1]),
		downgraded("checksums of all postings taken away", nothing, postings...),
		downgraded("checksums of a header and a posting taken away", nothing, gold, postings[0]),
		since("checksum of a posting taken away long after the first", nothing, postings[1]),
		since("checksums of a transaction taken away", nothing, append(postings, gold)...),
	}
}

// A posting whose quantity is altered and whose checksum is taken away is named, and so is what else is wrong then. All
// of it is counted, also what a report has no room for.
func TestAnAlteredPostingWithoutItsChecksumIsNamed(t *testing.T) {
	b := copyOfBook(t)
	k := b.postingOf(gold, 0)
	all(add(k, "Quantity", 1), downgrade(k))(b)
	wanted := append(ofChecksums(audit.ChecksumMissing, k), want{audit.PostingDiffers, k, ""},
		want{audit.AssetUnbalanced, table.AssetKey("GOLD"), ""}, want{audit.BalanceWrong, janeGOLD, ""})
	client := b.client(t)
	expect(t, verify(t, client, 0), wanted)
	report, err := audit.New(audit.Options{Store: client, Table: books, Findings: 1, Pause: noPause}).Run(t.Context())
	if err != nil || report.Counts.Findings != int64(len(wanted)) || len(report.ByCode) != len(wanted) ||
		len(report.Findings) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// What versions before checksums wrote is sound: all that is older than the first checksum, or little younger.
func TestABookThatGotChecksumsIsSound(t *testing.T) {
	// The events of the book are of less than an hour: with a checksum on the newest, on the oldest and on one between.
	sound := copyOfBook(t)
	for _, kept := range [][]table.Key{append(sound.postingsOf(gold), gold), {usd}, {table.GrantKey("jane", "u-2", 2)}} {
		b := copyOfBook(t)
		b.downgradeAll()
		for _, k := range kept {
			b[k] = sound[k]
		}
		for _, settle := range []time.Duration{0, 2 * time.Hour} {
			if report := verify(t, b.client(t), settle); !report.Sound() || report.WithoutChecksum == 0 {
				t.Errorf("with checksums on %v: %+v", kept, report)
			}
		}
	}
}
