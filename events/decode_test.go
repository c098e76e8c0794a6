package events_test

import (
	"encoding/json"
	"errors"
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
	type fields = map[string]any
	type list = []any
	type number = json.Number
	tooMany := func(n int, value any) fields {
		f := fields{}
		for i := range n {
			f[string(rune('A'+i/26%26))+string(rune('A'+i%26))] = value
		}
		return f
	}
	var tooManyGroups list
	for i := range 11 {
		tooManyGroups = append(tooManyGroups, "desk"+string(rune('a'+i)))
	}
	ids := golden(t, "TransactionPosted.v1.json").(events.TransactionPosted).Legs
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
		{"TransactionPosted.v1.json", "Legs", []any{make(list, 1), make(list, 49)}},
		{"TransactionPosted.v1.json", "Legs[0].ID", []any{""}},
		{"TransactionPosted.v1.json", "Legs[0].Quantity", []any{number(digits29)}},
		{"TransactionPosted.v1.json", "Legs[0].Cost", []any{number("-0"), "0", nil}},
		{"TransactionPosted.v1.json", "Legs[1].ID", []any{string(ids[0].ID)}},
		{"TransactionPosted.v1.json", "Legs[1].Account", []any{""}},
		{"TransactionPosted.v1.json", "Legs[1].Asset", []any{"#"}},
		{"TransactionPosted.v1.json", `Legs[1]."Extra"`, []any{"x"}},
		{"TransactionPosted.v1.json", "Legs[1]", []any{"x"}},
		{"TransactionPosted.v1.json", "Legs[2].ID", []any{
			string(ids[1].ID), string(events.FirstKSUID(goldenAt.AddDate(1, 0, 0))), // of another instant
		}},
		{"TransactionPosted.v1.backdated.json", "RecordedAt", []any{
			"2027-02-21", "2026-11-21T09:06:39.123456Z", events.FormatTime(epoch), // the second is that of the legs
		}},
		{"TransactionPosted.v1.json", "Reverses", []any{"t-1"}},
		{"TransactionPosted.v1.reversal.json", "Reverses", []any{nil, "-"}},
		{"TransactionHeld.v1.json", "RecordedAt", []any{"2027-02-21T09:06:39.123456Z"}},
		{"PostingRecorded.v1.json", "ID", []any{greatestKSUID[:26] + "W"}},
		{"PostingRecorded.v1.json", "Quantity", []any{number("+1"), number(""), number("1e3")}},
		{"PostingRecorded.v1.json", "Cost", []any{number("-" + digits29)}},
		{"PostingRecorded.v1.json", "Transaction", []any{"a/b"}},
		{"PostingRecorded.v1.json", "Kind", []any{"gift"}},
		{"PostingRecorded.v1.json", `"Pending"`, []any{number("0")}},
		{"PostingRecorded.v1.placed.json", "Pending", []any{nil, number("1e3")}},
		{"PostingRecorded.v1.placed.json", "Phase", []any{"begun", ""}},
		{"PostingRecorded.v1.backdated.json", "Backdated", []any{false, "true"}},
		{"AccountChanged.v1.json", "Number", []any{number("1")}},
		{"AccountChanged.v1.json", "State", []any{"shut", nil}},
		{"AccountChanged.v1.least.json", "Closing", []any{true}}, // it is closed
		{"AccountChanged.v1.closing.json", "Highest", []any{fields{}, fields{"USD": number("-1")}}},
		{"TransactionHeld.v1.json", "ExpiresAt", []any{"0001-01-01T00:00:00.000000Z", number("1")}},
		{"TransactionReversed.v1.json", "Taken", []any{list{}, nil, "x"}},
		{"MemberGranted.v1.json", "Role", []any{"admin"}},
		{"MemberGranted.v1.json", "Number", []any{number("0"), number("1000000000000")}},
		{"MemberRevoked.v1.json", "Number", []any{number("-1")}},
		{"MemberRevoked.v1.json", "User", []any{"u 17"}},
		{"MemberGranted.v1.json", "Group", []any{"desk"}},
		{"MemberGranted.v1.group.json", "Group", []any{"de sk", ""}},
		{"MemberRevoked.v1.group.json", "Account", []any{"-"}},
		{"GroupRegistered.v1.json", "Name", []any{x("é", 257), ""}},
		{"AccountGrouped.v1.json", "Groups", []any{
			nil, "desk", list{}, list{"clients"}, tooManyGroups,
		}},
		{"AccountGrouped.v1.json", "Groups[1]", []any{"clients", "b", "de sk", number("1")}},
		{"AccountGrouped.v1.json", "Removed", []any{"other"}},
		{"AccountGrouped.v1.json", "Added", []any{nil}},
		{"AccountGrouped.v1.least.json", "Groups", []any{list{"desk"}}},
		{"AccountGrouped.v1.json", "Number", []any{number("0"), number("1000000000000")}},
	} {
		for _, value := range test.values {
			s := readGolden(t, test.file)
			set(s.Fields, test.field, value)
			checkRefused(t, s, test.field)
		}
	}
	for name, role := range map[string]any{"MemberRevoked": "viewer", "MemberGranted": nil} { // that tells them apart
		s := readGolden(t, name+".v1.json")
		set(s.Fields, "Role", role)
		s.Checksum = events.ChecksumOf(name, fieldsOf(s.Fields))
		if e, err := s.decode(); e != nil || !errors.Is(err, events.ErrMalformedEvent) {
			t.Errorf("%s with the role %v: %v, %v", name, role, e, err)
		}
	}
}

// set sets the field at a path such as "Legs[1].ID", or removes it if the value is nil. A name may be in quotes.
func set(f map[string]any, path string, value any) {
	head, rest, nested := strings.Cut(path, "[")
	if !nested {
		head = strings.Trim(path, `"`)
		if f[head] = value; value == nil {
			delete(f, head)
		}
		return
	}
	list := f[head].([]any)
	if i := rest[0] - '0'; rest[1:] == "]" {
		list[i] = value
	} else {
		set(list[i].(map[string]any), rest[len("0]."):], value)
	}
}

func checkRefused(t *testing.T, s stored, field string) {
	t.Helper()
	e, err := s.decode()
	want := s.Name + ": " + field + " "
	if e != nil || !errors.Is(err, events.ErrMalformedEvent) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v: %v, %v; want %q at fault", s, e, err, want)
	}
}

// A list shows three kinds of event, without their unlisted fields. Everything else is as in the whole.
func TestDecodeListed(t *testing.T) {
	for _, file := range goldenFiles(t) {
		s, e := readGolden(t, file), golden(t, file)
		want := reflect.New(reflect.TypeOf(e)).Elem()
		want.Set(reflect.ValueOf(e))
		for f := range want.Type().Fields() {
			if strings.Contains(f.Tag.Get("stored"), "unlisted") {
				delete(s.Fields, f.Name)
				want.FieldByIndex(f.Index).SetZero()
			}
		}
		listed, err := events.DecodeListed(s.Name, s.Version, fieldsOf(s.Fields))
		switch e.(type) {
		case events.AssetRegistered, events.AccountOpened, events.GroupRegistered:
			if err != nil || !reflect.DeepEqual(listed, want.Interface()) {
				t.Errorf("%s: %#v, %v", file, listed, err)
			}
			s.Fields["At"] = "now"
			if listed, err := events.DecodeListed(s.Name, s.Version, fieldsOf(s.Fields)); listed != nil || !errors.Is(err, events.ErrMalformedEvent) {
				t.Errorf("%s now: %#v, %v", file, listed, err)
			}
		default:
			if listed != nil || !errors.Is(err, events.ErrUnknownEvent) {
				t.Errorf("%s is in no list: %#v, %v", file, listed, err)
			}
		}
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
		if back, err := storedForm(e).decode(); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %v", e.EventName(), err)
		}
	}
}

// TestDecodeOfDamage replaces, adds, repeats and removes values anywhere in valid events. It wants no panic, and either
// one of the two errors and no event, or an event with the same stored form. The checksum is that of the event, or that
// of what is stored, as a skilled attacker would have it.
func TestDecodeOfDamage(t *testing.T) {
	values := []events.Field{
		{}, {Type: events.FlagField, Text: "true"}, {Type: events.FlagField, Text: "false"}, {Type: events.ListField},
		{Type: events.MapField}, {Type: events.MapField, Of: events.Fields{{Name: "ID", Type: events.TextField, Text: "x"}}},
		{Type: events.ListField, Of: events.Fields{{Type: events.TextField, Text: "x"}, {}}},
		{Type: events.TextField}, {Type: events.NumberField, Text: "0"}, {Type: events.TextField, Text: "0001-01-01T00:00:00.000000Z"},
	}
	text := rapid.OneOf(rapid.String(), eventstest.ID(), rapid.StringMatching(`[+-]?[0-9]{0,40}(e[0-9])?`))
	leaf := rapid.OneOf(rapid.SampledFrom(values), rapid.Custom(func(t *rapid.T) events.Field {
		return events.Field{Type: rapid.SampledFrom([]events.FieldType{events.TextField, events.NumberField}).Draw(t, "type"), Text: text.Draw(t, "text")}
	}))
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"ID", "Role", "At", "Pending", "Phase", "RecordedAt", "Type", "V"}))
	var damage func(t *rapid.T, f events.Fields, isMap bool) events.Fields
	damage = func(t *rapid.T, f events.Fields, isMap bool) events.Fields {
		f = slices.Clone(f)
		action := rapid.IntRange(0, 9).Draw(t, "action")
		if len(f) == 0 || action == 0 {
			one := leaf.Draw(t, "value")
			if one.Name = ""; isMap {
				one.Name = names.Draw(t, "name")
			}
			return append(f, one)
		}
		i := rapid.IntRange(0, len(f)-1).Draw(t, "at")
		switch {
		case action == 1:
			return slices.Delete(f, i, i+1)
		case action == 2 && !isMap:
			return append(f, f[i])
		case f[i].Of != nil && action < 8:
			f[i].Of = damage(t, f[i].Of, f[i].Type == events.MapField)
		default:
			name := f[i].Name
			f[i] = leaf.Draw(t, "value")
			f[i].Name = name
		}
		return f
	}
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		f, checksum := new(events.Encoder).Encode(e)
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			f = damage(t, f, true)
		}
		if rapid.Bool().Draw(t, "recomputed") {
			checksum = events.ChecksumOf(e.EventName(), f)
		}
		back, err := events.Decode(e.EventName(), events.Form, checksum, f)
		switch {
		case err != nil && (back != nil || errors.Is(err, events.ErrUnknownEvent) == errors.Is(err, events.ErrMalformedEvent)):
			t.Fatalf("%v = %v, %v", f, back, err)
		case err == nil && (!reflect.DeepEqual(storedForm(back).Fields, objectOf(f)) || events.Checksum(back) != checksum):
			t.Fatalf("%v was taken for %#v", f, back)
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	for _, file := range []string{"PostingRecorded.v1.json", "TransactionHeld.v1.json"} {
		s := readGolden(b, file)
		f := fieldsOf(s.Fields)
		b.Run(file, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				events.ChecksumOf(s.Name, f)
			}
		})
	}
}
