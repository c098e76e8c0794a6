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
	"ledger.example/internal/store"
	"ledger.example/tests/full"
)

// itemCodes are the codes of defects of a single item.
var itemCodes = []audit.Code{
	audit.UnknownItem, audit.UnknownAttribute, audit.MissingAttribute, audit.WrongType, audit.WrongValue,
	audit.WrongKey,
	audit.ChecksumDiffers,
}

// itemFindings audits a table with the items of b, and returns the findings about single items by key.
func itemFindings(t *testing.T, b book) map[store.Key][]audit.Finding {
	t.Helper()
	found := make(map[store.Key][]audit.Finding)
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
			b[store.EventKey(e)] = store.EventItem(e)
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
			item := store.EventItem(eventstest.Event().Draw(r, "event"))
			alter(r, item, true)
			key, err := store.KeyOf(item)
			if err != nil {
				r.Fatal(err)
			}
			if e, err := store.DecodeEvent(item); err == nil {
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
var keyAttributes = []string{store.AttrPK, store.AttrSK, store.AttrSK2, store.AttrPK2}

// alter changes, removes or adds an attribute of an item, or of a map or a list in it.
func alter(t *rapid.T, item store.Item, outermost bool) {
	if rapid.IntRange(0, 9).Draw(t, "adds") == 0 {
		item["New"+eventstest.ID().Draw(t, "name")] = store.String("new")
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(item))).Draw(t, "attribute")
	if outermost && slices.Contains(keyAttributes, name) {
		item[name] = store.String(store.Read(item).Text(name) + rapid.SampledFrom([]string{"x", "#1", "0"}).Draw(t, "more"))
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
		return store.Map(inner)
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
		return rapid.SampledFrom([]types.AttributeValue{store.Amount(plus), store.String(v.Value)}).Draw(t, "number")
	case *types.AttributeValueMemberBOOL:
		return rapid.SampledFrom([]types.AttributeValue{store.Flag(!v.Value), store.Integer(1)}).Draw(t, "flag")
	case *types.AttributeValueMemberS:
		others := []string{
			v.Value + "x", "x" + v.Value, v.Value[min(1, len(v.Value)):], strings.ToUpper(v.Value), "viewer", "owner",
			"trade", "transfer", "jane", "unlimited",
			"2026-11-21T09:06:39.123456Z", `{"a":1}`, "1:def", string(events.FirstKSUID(time.Unix(1_700_000_000, 0))),
			"MemberGranted", "MemberRevoked", "HoldCaptured", "HoldReleased", "released", "expired", "closed",
		}
		others = slices.DeleteFunc(others, func(s string) bool { return s == v.Value })
		return store.String(rapid.SampledFrom(others).Draw(t, "text"))
	}
	t.Fatalf("an event with a %v", reflect.TypeOf(v))
	return nil
}

// longAgo is before all events of the book, by more than a deployment takes.
func longAgo() time.Time { return time.Now().Add(-48 * time.Hour) }
