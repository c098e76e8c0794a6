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

// itemCodes are the codes of defects of a single item.
var itemCodes = []audit.Code{
	audit.UnknownItem, audit.UnknownAttribute, audit.MissingAttribute, audit.WrongType, audit.WrongValue,
	audit.WrongKey,
	audit.ChecksumDiffers,
}

// itemFindings audits a table with the items of b, and returns the findings about single items by key.
func itemFindings(t *testing.T, b book) map[table.Key][]audit.Finding {
	t.Helper()
	found := make(map[table.Key][]audit.Finding)
	for _, f := range verify(t, b.client(t), 0).Findings {
		if slices.Contains(itemCodes, f.Code) {
			found[f.Key] = append(found[f.Key], f)
		}
	}
	return found
}

// eventsEach is the number of events in each audited table.
const eventsEach = 25

// The ledger and the audit compute the same checksum of every event, with separate code.
func TestLedgerAndAuditAgreeOnChecksums(t *testing.T) {
	full.Checks(20)
	rapid.Check(t, func(r *rapid.T) {
		b := make(book)
		for range eventsEach {
			e := eventstest.Event().Draw(r, "event")
			b[ddb.EventKey(e)] = ddb.EventItem(e)
		}
		for k, f := range itemFindings(t, b) {
			t.Errorf("%v: %+v", b[k], f)
		}
	})
}

// If one attribute of an event is altered, the ledger rejects the item and the audit reports it.
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
		found := itemFindings(t, b)
		for k, item := range b {
			if len(found[k]) == 0 {
				t.Errorf("no finding about %v", item)
			}
		}
	})
}

// keyAttributes can be changed only to other strings. DynamoDB rejects anything else.
var keyAttributes = []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2}

// alter changes, removes or adds an attribute of an item, or of a map or a list in it.
func alter(t *rapid.T, item ddb.Item, outermost bool) {
	if rapid.IntRange(0, 9).Draw(t, "adds") == 0 {
		item["New"+eventstest.ID().Draw(t, "name")] = ddb.String("new")
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(item))).Draw(t, "attribute")
	if outermost && slices.Contains(keyAttributes, name) {
		item[name] = ddb.String(ddb.Read(item).Text(name) + rapid.SampledFrom([]string{"x", "#1", "0"}).Draw(t, "more"))
		return
	}
	if rapid.IntRange(0, 5).Draw(t, "removes") == 0 {
		delete(item, name)
		return
	}
	item[name] = other(t, item[name])
}

// other returns a value that differs from v.
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

// downgrade removes the checksums of events and sets their version back to 1.
func downgrade(keys ...table.Key) change {
	return func(b book) {
		for _, k := range keys {
			b[k] = withoutChecksum(b[k])
		}
	}
}

// registeredAt changes the time when an asset was registered.
func registeredAt(k table.Key, at time.Time) change {
	return func(b book) {
		b.set(k, "At", ddb.String(events.FormatTime(at)))
		if e, ok := event(b[k]); ok && b[k][table.AttrChecksum] != nil {
			b[k] = ddb.EventItem(e)
		}
	}
}

// longAgo is before all events of the book, by more than a deployment takes.
func longAgo() time.Time { return time.Now().Add(-48 * time.Hour) }

// downgradeCorruptions are events set back to the version without checksums.
func (b book) downgradeCorruptions() []corruption {
	downgraded := func(name string, before change, keys ...table.Key) corruption {
		return corruption{name, all(before, downgrade(keys...)), atChecksums(audit.ChecksumMissing, keys...)}
	}
	// since is downgraded in a table that has had checksums for a long time.
	since := func(name string, before change, keys ...table.Key) corruption {
		return downgraded(name, all(registeredAt(usd, longAgo()), before), keys...)
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

// An altered posting without its checksum is found, with everything that differs from it. Findings beyond
// Options.Findings are counted.
func TestAlteredPostingWithoutChecksumIsFound(t *testing.T) {
	b := copyOfBook(t)
	k := b.postingOf(gold, 0)
	all(add(k, "Quantity", 1), downgrade(k))(b)
	wanted := append(atChecksums(audit.ChecksumMissing, k), want{audit.PostingDiffers, k, ""},
		want{audit.AssetUnbalanced, table.AssetKey("GOLD"), ""}, want{audit.BalanceWrong, janeGOLD, ""})
	client := b.client(t)
	expect(t, verify(t, client, 0), wanted)
	report, err := audit.New(audit.Options{Store: client, Table: books, Findings: 1, Pause: noPause}).Run(t.Context())
	if err != nil || report.Counts.Findings != int64(len(wanted)) || len(report.ByCode) != len(wanted) ||
		len(report.Findings) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Events without a checksum are sound if they are older than the first checksum, or little younger.
func TestEventsFromBeforeChecksumsAreSound(t *testing.T) {
	// All events of the book are from less than an hour, so any of them may be the first with a checksum.
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
