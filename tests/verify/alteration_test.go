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
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/tests/harness/full"
)

// unjudged are the attributes, by type, for which another number (N) or another text (S) need not be a finding. The
// projector counts its writes in the numbers, and no event says how many there were. No item says how far a target got
// in the journal.
var unjudged = map[string]string{
	table.Balance.Type + "." + table.AttrVersion: "N",
	table.Summary.Type + "." + table.AttrVersion: "N",

	table.Forwarded.Type + "." + table.AttrVersion: "N",
	table.Forwarded.Type + "." + table.AttrAfter:   "S",
	table.Forwarded.Type + "." + table.AttrAt:      "S",
}

// ofEachType returns the keys of the book's items by type, in order. The book has items of every type.
func (b book) ofEachType(t *testing.T) map[string][]table.Key {
	t.Helper()
	all := make(map[string][]table.Key)
	for k := range b {
		kind := b.text(k, table.AttrType)
		all[kind] = append(all[kind], k)
	}
	for _, p := range table.ItemTypes() {
		for kind := range strings.FieldsSeq(p.Type) {
			if len(all[kind]) == 0 {
				t.Errorf("the book has no %s", kind)
			}
		}
	}
	for _, keys := range all {
		slices.SortFunc(keys, compareKeys)
	}
	return all
}

// Whatever attribute of whatever item is changed, removed or added, also inside a map or a list: the audit finds it.
// That holds for projections, guards and copies as well, which no checksum protects.
func TestEveryAlterationOfAnItemIsFound(t *testing.T) {
	full.Checks(20)
	sound := copyOfBook(t)
	items, values := sound.ofEachType(t), sound.values()
	rapid.Check(t, func(r *rapid.T) {
		for range 2 {
			b := copyOfBook(t)
			kind := rapid.SampledFrom(slices.Sorted(maps.Keys(items))).Draw(r, "type")
			k := rapid.SampledFrom(items[kind]).Draw(r, "item")
			if rapid.Bool().Draw(r, "borrows") {
				borrow(r, b[k], values)
			} else {
				alter(r, b[k], true)
			}
			name := changed(sound[k], b[k])
			if name == "" || b[k][name] != nil && unjudged[kind+"."+name] == table.TypeOf(b[k][name]) {
				continue
			}
			if verify(t, b.client(t), 0).Sound() {
				r.Errorf("%s of the %s at %s %s is %v instead of %v: no finding", name, kind, k.PK, k.SK,
					table.Read(b[k]).Text(name), table.Read(sound[k]).Text(name))
			}
		}
	})
}

// However many items are wrong at once, and however they contradict each other, the audit ends with a report. Items of
// one partition are altered together, with right checksums or without, because checks compare them with each other.
func TestSeveralAlterationsAtOnceAreReported(t *testing.T) {
	full.Checks(30)
	sound := copyOfBook(t)
	values, partitions := sound.values(), make(map[string][]table.Key)
	for _, k := range slices.SortedFunc(maps.Keys(sound), compareKeys) {
		partitions[k.PK] = append(partitions[k.PK], k)
	}
	rapid.Check(t, func(r *rapid.T) {
		b, isChanged := copyOfBook(t), false
		for range rapid.IntRange(1, 2).Draw(r, "partitions") {
			keys := partitions[rapid.SampledFrom(slices.Sorted(maps.Keys(partitions))).Draw(r, "partition")]
			for range rapid.IntRange(1, 6).Draw(r, "items") {
				k := rapid.SampledFrom(keys).Draw(r, "item")
				switch item, ok := b[k]; {
				case !ok: // deleted before
				case rapid.IntRange(0, 9).Draw(r, "how") == 0:
					delete(b, k)
				case rapid.Bool().Draw(r, "borrows"):
					borrow(r, item, values)
				default:
					alter(r, item, true)
				}
			}
		}
		for k, item := range b {
			name, kind := changed(sound[k], item), table.Read(sound[k]).Text(table.AttrType)
			isChanged = isChanged || name != "" && unjudged[kind+"."+name] == ""
		}
		if rapid.Bool().Draw(r, "checksums") {
			b.recomputeChecksums()
			isChanged = false // who recomputes them may leave no trace
		}
		client := b.client(t)
		for _, settle := range []time.Duration{0, 2 * time.Hour} {
			if report := verify(t, client, settle); settle == 0 && isChanged && report.Sound() {
				r.Error("no finding")
			}
		}
	})
}

// values returns the values that attributes have in the book, by the attribute's name.
func (b book) values() map[string][]types.AttributeValue {
	all := make(map[string][]types.AttributeValue)
	for _, k := range slices.SortedFunc(maps.Keys(b), compareKeys) {
		for name, v := range b[k] {
			isSame := func(w types.AttributeValue) bool { return reflect.DeepEqual(v, w) }
			if !slices.ContainsFunc(all[name], isSame) {
				all[name] = append(all[name], v)
			}
		}
	}
	return all
}

// borrow gives an item the value that an attribute has in another item: its form is right.
func borrow(r *rapid.T, item table.Item, values map[string][]types.AttributeValue) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool {
		// With another's key it would replace that one. Nobody has a value for an attribute that was added.
		return name == table.AttrPK || name == table.AttrSK || len(values[name]) == 0
	})
	name := rapid.SampledFrom(names).Draw(r, "attribute")
	item[name] = rapid.SampledFrom(values[name]).Draw(r, "value")
}

func compareKeys(k, l table.Key) int { return strings.Compare(k.PK+" "+k.SK, l.PK+" "+l.SK) }

// changed returns the name of the attribute in which two items differ, or "".
func changed(before, after table.Item) string {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for name := range all {
		if !reflect.DeepEqual(before[name], after[name]) {
			return name
		}
	}
	return ""
}

// outsideFields are the attributes of an event's item that are no fields of the event.
var outsideFields = []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrType, table.AttrForm,
	table.AttrChecksum}

// fieldsOfEvents returns the fields that the events of each type can have, with a value of each.
func fieldsOfEvents() map[string]map[string]types.AttributeValue {
	all, events := make(map[string]map[string]types.AttributeValue), eventstest.Event()
	for i := range 1000 {
		item := table.EventItem(events.Example(i))
		kind := table.TextOf(item[table.AttrType])
		if all[kind] == nil {
			all[kind] = make(map[string]types.AttributeValue)
		}
		for name, v := range item {
			if !slices.Contains(outsideFields, name) {
				all[kind][name] = v
			}
		}
	}
	return all
}

// A field of one event is not accepted on an event of another type: the finding names the field. So each type of event
// has a list of fields of its own in the audit.
func TestFieldsOfOtherEventsAreFound(t *testing.T) {
	fields, all := fieldsOfEvents(), make(map[string]types.AttributeValue)
	for _, of := range fields {
		maps.Copy(all, of)
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(all)), 5) { // some fields are accepted together
		b, foreign := copyOfBook(t), make(map[table.Key][]string)
		for kind, keys := range b.ofEachType(t) {
			for _, name := range names {
				if of, isEvent := fields[kind]; isEvent && of[name] == nil {
					b[keys[0]][name] = all[name]
					foreign[keys[0]] = append(foreign[keys[0]], name)
				}
			}
		}
		found := itemFindings(t, b)
		for k, names := range foreign {
			for _, name := range names {
				if !slices.ContainsFunc(found[k], func(f audit.Finding) bool { return f.Attribute == name }) {
					t.Errorf("%s on the %s at %s %s: %+v", name, b.text(k, table.AttrType), k.PK, k.SK, found[k])
				}
			}
		}
	}
}

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

// The ledger and the audit compute the same checksum of every event, with separate code. If one attribute of an event is
// altered, the ledger rejects the item and the audit reports it.
func TestLedgerAndAuditAgreeOnChecksums(t *testing.T) {
	full.Checks(20)
	told := map[string]bool{}
	isPossible := func(e events.Event) bool { // no asset is its own currency
		asset, ok := e.(events.AssetRegistered)
		return !ok || asset.Currency != asset.ID
	}
	rapid.Check(t, func(r *rapid.T) {
		sound, altered := make(book), make(book)
		for range 25 {
			item := table.EventItem(eventstest.Event().Filter(isPossible).Draw(r, "event"))
			sound[table.ItemKey(item)] = maps.Clone(item)
			alter(r, item, true)
			if e, err := table.DecodeEvent(item); err == nil {
				t.Errorf("%v is decoded as %+v", item, e)
			}
			altered[table.ItemKey(item)] = item
		}
		for _, found := range itemFindings(t, sound) {
			for _, f := range found { // each attribute that one of them does not know is told once
				what := fmt.Sprint(f.Code, table.Read(sound[f.Key]).Text(table.AttrType), f.Attribute)
				if !told[what] {
					told[what] = true
					t.Errorf("%+v in %v", f, sound[f.Key])
				}
			}
		}
		found := itemFindings(t, altered)
		for k, item := range altered {
			if len(found[k]) == 0 {
				t.Errorf("no finding about %v", item)
			}
		}
	})
}

// keyAttributes can be changed only to other strings. DynamoDB rejects anything else.
var keyAttributes = []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2}

// alter changes, removes or adds an attribute of an item, or of a map or a list in it.
func alter(t *rapid.T, item table.Item, outermost bool) {
	if rapid.IntRange(0, 9).Draw(t, "adds") == 0 {
		item["New"+eventstest.ID().Draw(t, "name")] = table.String("new")
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(item))).Draw(t, "attribute")
	if outermost && slices.Contains(keyAttributes, name) {
		item[name] = table.String(table.Read(item).Text(name) + rapid.SampledFrom([]string{"x", "#1", "0"}).Draw(t, "more"))
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
		return table.Map(inner)
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
		return rapid.SampledFrom([]types.AttributeValue{table.Amount(plus), table.String(v.Value)}).Draw(t, "number")
	case *types.AttributeValueMemberBOOL:
		return rapid.SampledFrom([]types.AttributeValue{table.Flag(!v.Value), table.Integer(1)}).Draw(t, "flag")
	case *types.AttributeValueMemberS:
		others := []string{
			v.Value + "x", "x" + v.Value, v.Value[min(1, len(v.Value)):], strings.ToUpper(v.Value), "viewer", "owner",
			"trade", "transfer", "jane", "unlimited",
			"2026-11-21T09:06:39.123456Z", `{"a":1}`, "1:def", string(events.FirstKSUID(time.Unix(1_700_000_000, 0))),
			"MemberGranted", "MemberRevoked", "HoldCaptured", "HoldReleased", "released", "expired", "closed",
		}
		others = slices.DeleteFunc(others, func(s string) bool { return s == v.Value })
		return table.String(rapid.SampledFrom(others).Draw(t, "text"))
	}
	t.Fatalf("an event with a %v", reflect.TypeOf(v))
	return nil
}

// longAgo is before all events of the book, by more than a deployment takes.
func longAgo() time.Time { return time.Now().Add(-48 * time.Hour) }
