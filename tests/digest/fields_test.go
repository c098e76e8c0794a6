package digest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/mod/sumdb/tlog"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/internal/watch/digest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	_ "ledger.example/tests/harness/full" // the seed of what is drawn
	"ledger.example/tests/harness/system"
)

// drawn returns random events of every type of the journal that have every field between them, and the fields by stored
// type and by Go type.
func drawn(t testing.TB) (all []events.Event, fields map[string]map[string]bool) {
	t.Helper()
	fields, keys := make(map[string]map[string]bool), make(map[table.Key]bool)
	for seed := range 1000 {
		e := eventstest.Event().Example(seed)
		item, key := table.EventItem(e), table.EventKey(e)
		if _, ok := table.ParseJournaled(key.ID()); !ok || keys[key] ||
			tabletest.Checksum(item) != table.Read(item).Text(table.AttrChecksum) { // a text that JSON may escape
			continue
		}
		isNew := false
		for _, kind := range []string{e.EventName(), reflect.TypeOf(e).Name()} {
			if fields[kind] == nil {
				fields[kind] = make(map[string]bool)
			}
			before := len(fields[kind])
			for name := range item {
				fields[kind][name] = true
			}
			isNew = isNew || len(fields[kind]) > before
		}
		if isNew {
			all, keys[key] = append(all, e), true
		}
	}
	return all, fields
}

// variant is another value of what is at a path in an item, nil for none.
type variant struct {
	path  string
	value types.AttributeValue
}

// texts are texts of fields of events.
var texts = []string{
	"x", "viewer", "owner", "frozen", "closed", "unlimited", "trade", "transfer", `{"a":1}`, "2026-11-21T09:06:39.123456Z",
	"1:" + strings.Repeat("0", 64), string(events.FirstKSUID(viewstest.Morning)), "MemberRevoked", "HoldReleased", "HoldExpired",
}

// variants returns other values of v, and of each value in it.
func variants(path string, v types.AttributeValue) (all []variant) {
	add := func(value types.AttributeValue) { all = append(all, variant{path, value}) }
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		for _, text := range append([]string{v.Value + "x"}, texts...) {
			if text != v.Value {
				add(table.String(text))
			}
		}
	case *types.AttributeValueMemberN:
		for _, n := range []string{v.Value + "0", "1", "2"} {
			if n != v.Value && n != "00" {
				add(&types.AttributeValueMemberN{Value: n})
			}
		}
	case *types.AttributeValueMemberBOOL:
		add(table.Flag(!v.Value))
	case *types.AttributeValueMemberM:
		all = inMap(path+".", v.Value, func(m table.Item) types.AttributeValue { return table.Map(m) })
		more := maps.Clone(v.Value)
		more["more"] = table.String("x")
		add(table.Map(more))
	case *types.AttributeValueMemberL:
		last := len(v.Value) - 1
		add(&types.AttributeValueMemberL{Value: v.Value[:last]})
		for _, x := range variants(path+"[]", v.Value[last]) {
			all = append(all, variant{x.path, &types.AttributeValueMemberL{Value: append(slices.Clone(v.Value[:last]), x.value)}})
		}
	}
	return all
}

// inMap returns variants of a map.
func inMap(path string, m table.Item, of func(table.Item) types.AttributeValue) (all []variant) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		without := maps.Clone(m)
		delete(without, name)
		all = append(all, variant{path + name + " removed", of(without)})
		for _, x := range variants(path+name, m[name]) {
			with := maps.Clone(m)
			with[name] = x.value
			all = append(all, variant{x.path, of(with)})
		}
	}
	return all
}

// Whatever field of whatever event is altered, and its checksum computed anew, also such that the ledger reads the
// event without a complaint: a check names the event, and no other.
func TestEveryFieldIsSealed(t *testing.T) {
	all, fields := drawn(t)
	for _, kind := range table.JournaledTypes() {
		if fields[kind] == nil {
			t.Errorf("no %s was drawn", kind)
		}
	}
	for _, e := range all {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(e)) {
			if f.Tag.Get("stored") != "-" && !f.Anonymous && !fields[reflect.TypeOf(e).Name()][f.Name] {
				t.Errorf("no %s with %s was drawn", e.EventName(), f.Name)
			}
		}
	}
	b := newBook(t)
	for page := range slices.Chunk(all, 20) {
		b.page(page...)
	}
	b.run()
	var altered [][]table.Item // of each event, in each altered form
	most, read := 0, 0
	for _, e := range all {
		paths := make(map[string]table.Item)
		keep := func(m table.Item) types.AttributeValue { return table.Map(m) }
		for _, x := range inMap("", table.EventItem(e), keep) {
			item := x.value.(*types.AttributeValueMemberM).Value
			if k, err := table.KeyOf(item); err != nil || k != table.EventKey(e) {
				continue // it is another item
			}
			if x.path != table.AttrChecksum && x.path != table.AttrChecksum+" removed" {
				item[table.AttrChecksum] = table.String(tabletest.Checksum(item))
			}
			_, err := table.DecodeEvent(item)
			if _, isThere := paths[x.path]; !isThere || err == nil {
				paths[x.path] = item
			}
		}
		altered = append(altered, slices.Collect(maps.Values(paths)))
		most = max(most, len(paths))
	}
	total := 0
	for n := range most { // the n-th altered form of each event at once
		for i, e := range all {
			if b.forge(e); n < len(altered[i]) {
				b.put(altered[i][n])
				if _, err := table.DecodeEvent(altered[i][n]); err == nil {
					read++
				}
				total++
			}
		}
		found := b.findings()
		for i, e := range all {
			want := 0
			if n < len(altered[i]) {
				want = 1
			}
			if strings.Count(found, "event "+table.EventKey(e).ID()+" ") != want {
				t.Errorf("%v, altered: %d: found %q", table.EventItem(e), want, found)
			}
		}
	}
	if t.Logf("%d events with %d altered fields, of which %d can be read", len(all), total, read); read < total/3 {
		t.Error("the ledger refuses most of them")
	}
}

// dynamoJSON returns a value in the form of DynamoDB's JSON.
func dynamoJSON(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, element := range v.Value {
			all[i] = dynamoJSON(element)
		}
		return map[string]any{"L": all}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": itemJSON(v.Value)}
	}
	panic(fmt.Sprintf("items do not have a %T", v))
}

func itemJSON(item table.Item) map[string]any {
	all := make(map[string]any)
	for name, v := range item {
		all[name] = dynamoJSON(v)
	}
	return all
}

// A second implementation, in Python and from the words of docs/proof.md, has the same leaves for events of every type,
// also with characters that JSON escapes, the same root, and accepts the same proofs.
func TestSecondImplementation(t *testing.T) {
	b := newBook(t)
	odd := opened("odd")
	odd.Name = "\x01\t\x7f\u0085\u2028\U000e0001<\\\""
	all, _ := drawn(t)
	all = append(all, odd)
	for page := range slices.Chunk(all, 6) {
		b.page(page...)
	}
	b.list(all[0]) // again
	void := projections.JournalPage{ID: events.FirstKSUID(b.now), Void: true, Entries: []projections.JournalEntry{projections.EntryOf(all[1])}}
	b.write(void)
	sealed := b.run().Note
	b.page(posted("t-9", 9)) // not sealed
	given := map[string]any{"note": b.files()[fmt.Sprint("notes/", sealed.Size)]}
	var items []any
	for _, item := range system.Contents(t, b.Client, b.Name) {
		items = append(items, itemJSON(item))
	}
	var proofs []string
	var wanted []bool
	for i, e := range all {
		p, err := digest.Prove(t.Context(), b.config(), table.EventKey(e))
		b.must(err)
		proofs, wanted = append(proofs, string(p.Text())), append(wanted, true)
		switch i % 3 {
		case 0:
			p.Index++
		case 1:
			p.Path = p.Path[1:]
		case 2:
			p.Canonical = bytes.Replace(p.Canonical, []byte(`"V":"1"`), []byte(`"V":"2"`), 1)
		}
		proofs, wanted = append(proofs, string(p.Text())), append(wanted, false)
	}
	given["items"], given["proofs"] = items, proofs
	in, err := json.Marshal(given)
	b.must(err)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: the second implementation runs on it. Install Python 3 (on Debian: apt-get " +
			"install python3) and run this again.")
	}
	command := exec.Command(python, "testdata/second.py")
	var problems strings.Builder
	command.Stdin, command.Stderr = bytes.NewReader(in), &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	var second struct {
		Leaves []string
		Root   string
		Note   bool
		Proofs []bool
	}
	b.must(json.Unmarshal(out, &second))
	if !second.Note || second.Root != sealed.Root.String() || !slices.Equal(second.Proofs, wanted) {
		t.Errorf("%+v, want %+v and %v", second, sealed, wanted)
	}
	index := 7
	for _, e := range append(all, all[0]) {
		if leaf := tlog.RecordHash(events.AppendCanonical(nil, e)); hex.EncodeToString(leaf[:]) != second.Leaves[index] {
			t.Errorf("%v has another leaf", e)
		}
		index++
	}
	if index != len(second.Leaves) || int64(index) != sealed.Size {
		t.Errorf("%d leaves, and %d in Python", index, len(second.Leaves))
	}
}
