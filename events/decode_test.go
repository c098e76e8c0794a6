package events_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// Each case changes one value of a valid event, so that it breaks one rule.
func TestDecodeRefuses(t *testing.T) {
	x := strings.Repeat
	type fields = events.Fields
	type number = events.Number
	tooMany := func(n int, value any) fields {
		f := fields{}
		for i := range n {
			f[string(rune('A'+i/26%26))+string(rune('A'+i%26))] = value
		}
		return f
	}
	tooManyGroups := make(events.List, 0, 11)
	for i := range 11 {
		tooManyGroups = append(tooManyGroups, "desk"+string(rune('a'+i)))
	}
	digits29 := "1" + x("0", events.PostedDigits)
	for _, test := range []struct {
		file, field string
		values      []any // each is refused; nil: the field's absence
	}{
		{"AssetRegistered.v1.json", "ID", []any{x("x", 65), "a\u202eb", "", nil, number("1")}},
		{"AssetRegistered.v1.json", "Name", []any{x("é", 257), "\xff", ""}},
		{"AssetRegistered.v1.json", "Description", []any{x("é", 257)}},
		{"AssetRegistered.v1.json", "Scale", []any{
			number("19"), number("-1"), number("18446744073709551616"), number("2e0"), "2",
		}},
		{"AssetRegistered.v1.json", "Currency", []any{"US D", ""}},
		{"AssetRegistered.v1.json", "Actor", []any{x("é", 2049)}},
		{"AssetRegistered.v1.json", "At", []any{"2026-11-21T09:06:39Z"}},
		{"AccountOpened.v1.json", "Name", []any{x("é", 257), ""}},
		{"AccountOpened.v1.json", "Profile", []any{
			"{}", "", "{", `{"a": 1}`, `[]`, `{"a":}`, `{"a":1}{}`, "{\"a\":\"\xff\"}",
			`{"a":"` + x("x", 4096) + `"}`, `{"a":"` + x("é", 2045) + `"}`, // 4,098 bytes
		}},
		{"AccountOpened.v1.json", "Overdraft", []any{"Unlimited"}},
		{"AccountOpened.v1.limits.json", "Overdraft", []any{
			fields{}, fields{"USD": number("-1")}, fields{"USD": "1"}, fields{"USD": number(digits29)},
			fields{"U D": number("1")}, tooMany(101, number("1")),
		}},
		{"TransactionPosted.v1.json", "ID", []any{"-"}},
		{"TransactionPosted.v1.json", "Kind", []any{"Transfer"}},
		{"TransactionPosted.v1.json", "Description", []any{x("é", 257)}},
		{"TransactionPosted.v1.json", "Metadata", []any{
			fields{}, tooMany(21, "x"), tooMany(20, x("x", 203)), // 20 × (2 + 203) = 4,100 bytes
			fields{"": "x"}, fields{x("é", 41): "x"}, fields{"a": x("é", 257)}, fields{"a": number("1")}, fields{"a\xff": "x"},
		}},
		{"TransactionPosted.v1.json", "Fingerprint", []any{
			"abc", "1:", "0:abc", "01:abc", "1:a b", "1:é", "1:" + x("x", 139),
		}},
		{"TransactionPosted.v1.json", "Legs", []any{make(events.List, 1), make(events.List, 49)}},
		{"TransactionPosted.v1.backdated.json", "RecordedAt", []any{
			"2027-02-21", "2026-11-21T09:06:39.123456Z", events.FormatTime(epoch), // the second is that of the legs
		}},
		{"TransactionHeld.v1.json", "RecordedAt", []any{"2027-02-21T09:06:39.123456Z"}},
		{"PostingRecorded.v1.json", "ID", []any{greatestKSUID[:26] + "W"}},
		{"PostingRecorded.v1.json", "Quantity", []any{number("+1"), number(""), number("1e3")}},
		{"PostingRecorded.v1.json", "Cost", []any{number("-" + digits29)}},
		{"PostingRecorded.v1.json", "Transaction", []any{"a/b"}},
		{"PostingRecorded.v1.json", "Kind", []any{"gift"}},
		{"MemberGranted.v1.json", "Role", []any{"admin"}},
		{"MemberGranted.v1.json", "Number", []any{number("0"), number("1000000000000")}},
		{"MemberRevoked.v1.json", "Number", []any{number("-1")}},
		{"MemberRevoked.v1.json", "User", []any{"u 17"}},
		{"MemberGranted.v1.json", "Group", []any{"desk"}},
		{"MemberGranted.v1.group.json", "Group", []any{"de sk", ""}},
		{"MemberRevoked.v1.group.json", "Account", []any{"-"}},
		{"GroupRegistered.v1.json", "Name", []any{x("é", 257), ""}},
		{"AccountGrouped.v1.json", "Groups", []any{
			nil, "desk", events.List{}, events.List{"clients"}, tooManyGroups,
		}},
		{"AccountGrouped.v1.json", "Removed", []any{"other"}},
		{"AccountGrouped.v1.json", "Added", []any{nil}},
		{"AccountGrouped.v1.least.json", "Groups", []any{events.List{"desk"}}},
		{"AccountGrouped.v1.json", "Number", []any{number("0"), number("1000000000000")}},
	} {
		for _, value := range test.values {
			f := encode(golden[test.file])
			f[strings.Trim(test.field, `"`)] = value
			if value == nil {
				delete(f, test.field)
			}
			checkRefused(t, golden[test.file], f, test.field)
		}
	}
	for name, role := range map[string]any{"MemberRevoked": "viewer", "MemberGranted": nil} { // that tells them apart
		f := encode(golden[name+".v1.json"])
		if f["Role"] = role; role == nil {
			delete(f, "Role")
		}
		if e, err := events.Decode(name, events.Form, events.Checksum(golden[name+".v1.json"]), f); e != nil || !errors.Is(err, events.ErrMalformedEvent) {
			t.Errorf("%s with the role %v: %v, %v", name, role, e, err)
		}
	}
	const header = "TransactionPosted.v1.json"
	ids := golden[header].(events.TransactionPosted).Legs
	for i, field := range map[int]map[string][]any{
		0: {"ID": {""}, "Quantity": {number(digits29)}, "Cost": {number("-0"), "0"}},
		1: {"ID": {string(ids[0].ID)}, "Account": {""}, "Asset": {"#"}, `"Extra"`: {"x"}, "Cost": {nil}},
		2: {"ID": {string(ids[1].ID), string(events.FirstKSUID(goldenAt.AddDate(1, 0, 0)))}},
	} {
		for name, values := range field {
			for _, value := range values {
				f := encode(golden[header])
				leg := f["Legs"].(events.List)[i].(fields)
				leg[strings.Trim(name, `"`)] = value
				if value == nil {
					delete(leg, name)
				}
				checkRefused(t, golden[header], f, fmt.Sprintf("Legs[%d].%s", i, name))
			}
		}
	}
	for _, second := range []any{"clients", "b", "de sk", number("1")} {
		f := encode(golden["AccountGrouped.v1.json"])
		f["Groups"].(events.List)[1] = second
		checkRefused(t, golden["AccountGrouped.v1.json"], f, "Groups[1]")
	}
	f := encode(golden[header])
	f["Legs"].(events.List)[1] = "x"
	checkRefused(t, golden[header], f, "Legs[1]")
}

func checkRefused(t *testing.T, good events.Event, f events.Fields, field string) {
	t.Helper()
	name := good.EventName()
	e, err := events.Decode(name, events.Form, events.Checksum(good), f)
	want := name + ": " + field + " "
	if e != nil || !errors.Is(err, events.ErrMalformedEvent) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v: %v, %v; want %q at fault", f, e, err, want)
	}
}

// TestDecodeAccepts has the longest values that the limits allow.
func TestDecodeAccepts(t *testing.T) {
	id, most := strings.Repeat("x", events.IDChars), mustAmount(nines(events.PostedDigits))
	at := goldenAt
	metadata := map[string]string{}
	for i := range events.MetadataPairs {
		metadata[string(rune('a'+i))] = strings.Repeat("x", events.MetadataBytes/events.MetadataPairs-1)
	}
	limits := map[string]events.Amount{}
	for i := range events.OverdraftAssets {
		limits[strings.Repeat("x", i/2+1)+string(rune('a'+i%2))] = most
	}
	header := events.TransactionPosted{
		ID: id, Kind: events.KindTrade, Description: strings.Repeat("é", events.DescriptionChars), Metadata: metadata,
		Fingerprint: "1:" + strings.Repeat("f", 128), Actor: strings.Repeat("é", events.ActorChars),
	}
	ids, _, err := events.NewMinter(nil, nil).Mint(events.PostingsMax)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ids {
		header.Legs = append(header.Legs, events.Leg{ID: k, Account: id, Asset: id, Quantity: most, Cost: most.Neg()})
	}
	name := strings.Repeat("é", events.NameChars)
	profile := `{"a":"` + strings.Repeat("x", events.ProfileBytes-8) + `"}`
	for _, e := range []events.Event{
		header, header.Postings()[0],
		events.AssetRegistered{ID: id, Name: name, Description: name, Scale: events.ScaleMax, Currency: id, Actor: name, At: at},
		events.AccountOpened{ID: id, Name: name, Profile: profile, Overdraft: events.Overdraft{Limits: limits}, Actor: name, At: at},
		events.MemberGranted{Account: id, User: id, Role: events.RoleOwner, Number: events.MemberNumberMax, Actor: name, At: at},
	} {
		name := e.EventName()
		if back, err := events.Decode(name, events.Form, events.Checksum(e), encode(e)); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkDecode decodes fields that may be damaged. It wants no panic, and either one of the two errors and no event, or
// an event with the same stored form.
func checkDecode(t interface{ Fatalf(string, ...any) }, name string, version int, sum string, f events.Fields) {
	e, err := events.Decode(name, version, sum, f)
	switch {
	case err != nil && (e != nil || errors.Is(err, events.ErrUnknownEvent) == errors.Is(err, events.ErrMalformedEvent)):
		t.Fatalf("Decode(%q, %d, %q, %v) = %v, %v", name, version, sum, f, e, err)
	case err == nil && !reflect.DeepEqual(encode(e), f):
		t.Fatalf("Decode(%q, %d, %q, %v) took it for %#v", name, version, sum, f, e)
	}
}

// TestDecodeOfDamage replaces, adds and removes values anywhere in valid events.
func TestDecodeOfDamage(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Just(any(nil)), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(eventstest.ID(), func(s string) any { return s }),
		rapid.Map(rapid.StringMatching(`[+-]?[0-9]{0,40}(e[0-9])?`), func(s string) any { return events.Number(s) }),
		rapid.Just(any(events.List{})), rapid.Just(any(events.Fields{})), rapid.Just(any(events.Fields{"ID": "x"})), rapid.Just(any(events.List{"x", nil})),
	)
	var damage func(t *rapid.T, v any) any
	damage = func(t *rapid.T, v any) any {
		switch v := v.(type) {
		case events.Fields:
			f := maps.Clone(v)
			names := slices.Sorted(maps.Keys(f))
			if len(names) == 0 || rapid.IntRange(0, 9).Draw(t, "add") == 0 {
				f[rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"ID", "Role", "At"})).Draw(t, "name")] = leaf.Draw(t, "value")
				return f
			}
			name := rapid.SampledFrom(names).Draw(t, "field")
			if rapid.IntRange(0, 4).Draw(t, "remove") == 0 {
				delete(f, name)
			} else {
				f[name] = damage(t, f[name])
			}
			return f
		case events.List:
			list := slices.Clone(v)
			if len(list) == 0 || rapid.IntRange(0, 4).Draw(t, "append") == 0 {
				return append(list, leaf.Draw(t, "value"))
			}
			i := rapid.IntRange(0, len(list)-1).Draw(t, "index")
			list[i] = damage(t, list[i])
			return list
		}
		return leaf.Draw(t, "value")
	}
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		f := encode(e)
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			f = damage(t, f).(events.Fields)
		}
		checkDecode(t, e.EventName(), events.Form, events.Checksum(e), f)
	})
}

// FuzzDecode reads name, version and fields from JSON.
func FuzzDecode(f *testing.F) {
	for _, e := range golden {
		f.Add(toJSON(e))
	}
	f.Add([]byte(`{"name":"PostingRecorded","version":1,"fields":{"ID":null,"Quantity":1e999,"Cost":-0,"Kind":[[[{}]]]}}`))
	f.Add([]byte(`{"name":"TransactionPosted","version":1,"fields":{"Legs":[{},{}],"Metadata":{"":{}}}}`))
	f.Add([]byte(`{"name":"TransactionPosted","version":1,"fields":{"Legs":[null,null]}}`))
	f.Add([]byte(`{"name":"Nonsense","version":-1,"fields":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := fromJSON(text)
		if fields, ok := s.Fields.(events.Fields); ok && err == nil {
			checkDecode(t, s.Name, s.Version, s.Checksum, fields)
		}
	})
}

// The figures are those of the whole event, and whatever else is stored is refused by its checksum.
func TestDecodeFigures(t *testing.T) {
	stored := func(e events.Event) events.StoredPosting {
		p, fields := e.(events.PostingRecorded), encode(e)
		pending, _ := fields[events.FigurePending].(events.Number)
		return events.StoredPosting{
			Pending: pending, Phase: string(p.Phase), Name: e.EventName(), Version: events.Form, Checksum: events.Checksum(e), Account: p.Account, Asset: p.Asset, ID: string(p.ID),
			Quantity: fields[events.FigureQuantity].(events.Number), Cost: fields[events.FigureCost].(events.Number),
			Transaction: fields[events.FigureTransaction].(string), Kind: fields[events.FigureKind].(string),
			Description: p.Description, Backdated: p.Backdated,
		}
	}
	usual := stored(golden["PostingRecorded.v1.json"])
	if n := testing.AllocsPerRun(100, func() { _, _ = events.DecodeFigures(usual) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	drawn := rapid.Map(eventstest.PostingRecorded(), stored)
	rapid.Check(t, func(t *rapid.T) {
		s, other := drawn.Draw(t, "stored"), drawn.Draw(t, "other")
		if f, err := events.DecodeFigures(s); err != nil || f.Quantity.String() != string(s.Quantity) || f.Cost.String() != string(s.Cost) {
			t.Fatalf("%+v: %v, %v", s, f, err)
		}
		altered := s
		rapid.SampledFrom([]func(){
			func() { altered.Checksum = other.Checksum }, func() { altered.Backdated = !s.Backdated },
			func() { altered.Account = other.Account }, func() { altered.Asset = other.Asset },
			func() { altered.ID = other.ID }, func() { altered.Quantity = other.Quantity },
			func() { altered.Cost = other.Cost }, func() { altered.Transaction = other.Transaction },
			func() { altered.Pending = other.Pending }, func() { altered.Phase = other.Phase },
			func() { altered.Kind = other.Kind }, func() { altered.Description = other.Description },
		}).Draw(t, "change")()
		if f, err := events.DecodeFigures(altered); altered != s && (!errors.Is(err, events.ErrMalformedEvent) || f != (events.Figures{})) {
			t.Fatalf("%+v: %v, %v", altered, f, err)
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	for _, file := range []string{"PostingRecorded.v1.json", "TransactionPosted.v1.trade.json"} {
		e := golden[file]
		b.Run(file, func(b *testing.B) {
			b.ReportAllocs()
			var room [events.ChecksumChars]byte
			for b.Loop() {
				events.AppendChecksum(room[:0], e)
			}
		})
	}
}
