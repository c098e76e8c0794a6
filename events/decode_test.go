package events_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// optional are the fields that may be absent, of whatever kind.
var optional = map[string]bool{"Description": true, "Currency": true, "Profile": true, "Overdraft": true, "Metadata": true}

// TestDecodeNamesTheFieldAtFault damages one field of a valid event: gone, of every wrong type, or one too many.
func TestDecodeNamesTheFieldAtFault(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEvent().Draw(t, "event")
		name, version := e.EventName()
		whole := events.Encode(e)
		refused := func(field, damage string, f events.Fields) {
			t.Helper()
			got, err := events.Decode(name, version, f)
			if got != nil || !errors.Is(err, events.ErrMalformedEvent) || !strings.Contains(err.Error(), field) {
				t.Fatalf("%s with %s %s: %v, %v", name, field, damage, got, err)
			}
		}
		for field, value := range whole {
			damaged := maps.Clone(whole)
			delete(damaged, field)
			if _, opened := e.(events.AccountOpened); optional[field] || field == "Name" && opened {
				if _, err := events.Decode(name, version, damaged); err != nil {
					t.Fatalf("%s without %s: %v", name, field, err)
				}
			} else {
				refused(field, "missing", damaged)
			}
			for _, wrong := range []any{nil, true, 1, 1.5, []byte("x"), events.KSUID("x"), "", "x y", events.Number("1.5"), events.List{}, events.Fields{}, map[string]any{}} {
				if field == "Name" || field == "Description" || field == "Actor" {
					if text, ok := wrong.(string); ok && text != "" {
						continue // a good value of these
					}
				}
				damaged[field] = wrong
				if reflect.TypeOf(wrong) == reflect.TypeOf(value) && reflect.DeepEqual(wrong, value) {
					continue
				}
				refused(field, "wrong", damaged)
			}
		}
		damaged := maps.Clone(whole)
		damaged["Extra"] = "x"
		refused("Extra", "added", damaged)
		// A field of other kinds is as unknown as one of none.
		delete(damaged, "Extra")
		for _, field := range []string{"Scale", "Legs", "Quantity", "Role", "At"} {
			if _, ok := whole[field]; !ok {
				damaged[field] = "x"
				refused(field, "added", damaged)
				break
			}
		}
	})
}

// TestDecodeRefuses goes through the rules of the fields, row by row: a good event with one thing changed.
func TestDecodeRefuses(t *testing.T) {
	long := func(n int) string { return strings.Repeat("é", n) }
	fields := func(file string) events.Fields { return events.Encode(golden[file]) }
	leg := func(f events.Fields, i int) events.Fields { return f["Legs"].(events.List)[i].(events.Fields) }
	type change func(f events.Fields)
	set := func(field string, value any) change { return func(f events.Fields) { f[field] = value } }
	setLeg := func(i int, field string, value any) change {
		return func(f events.Fields) { leg(f, i)[field] = value }
	}
	const asset, account, limits = "AssetRegistered.v1.json", "AccountOpened.v1.json", "AccountOpened.v1.limits.json"
	const header, posting = "TransactionPosted.v1.json", "PostingRecorded.v1.json"
	const granted, revoked = "MemberGranted.v1.json", "MemberRevoked.v1.json"
	tooMany := func(n int, value any) events.Fields {
		f := events.Fields{}
		for i := range n {
			f[string(rune('A'+i/26%26))+string(rune('A'+i%26))] = value
		}
		return f
	}
	for _, test := range []struct {
		file, field string
		change      change
	}{
		{asset, "ID", set("ID", strings.Repeat("x", 65))},
		{asset, "ID", set("ID", "a\u202eb")},
		{asset, "Name", set("Name", long(257))},
		{asset, "Name", set("Name", "\xff")},
		{asset, "Description", set("Description", long(257))},
		{asset, "Scale", set("Scale", events.Number("19"))},
		{asset, "Scale", set("Scale", events.Number("-1"))},
		{asset, "Scale", set("Scale", events.Number("18446744073709551616"))},
		{asset, "Scale", set("Scale", events.Number("2e0"))},
		{asset, "Scale", set("Scale", "2")},
		{asset, "Currency", set("Currency", "US D")},
		{asset, "Actor", set("Actor", long(2049))},
		{asset, "At", set("At", "2026-11-21T09:06:39Z")},
		{account, "Name", set("Name", long(257))},
		{account, "Profile", set("Profile", "{}")},
		{account, "Profile", set("Profile", `{"a": 1}`)},
		{account, "Profile", set("Profile", `[]`)},
		{account, "Profile", set("Profile", `{"a":}`)},
		{account, "Profile", set("Profile", `{"a":1}{}`)},
		{account, "Profile", set("Profile", `{"a":"`+strings.Repeat("x", 4096)+`"}`)},
		{account, "Profile", set("Profile", `{"a":"`+long(2045)+`"}`)}, // 4,098 bytes
		{account, "Profile", set("Profile", "{\"a\":\"\xff\"}")},
		{account, "Overdraft", set("Overdraft", "Unlimited")},
		{limits, "Overdraft", set("Overdraft", events.Fields{"USD": events.Number("-1")})},
		{limits, "Overdraft", set("Overdraft", events.Fields{"USD": "1"})},
		{limits, "Overdraft", set("Overdraft", events.Fields{"USD": events.Number("1" + strings.Repeat("0", 28))})},
		{limits, "Overdraft", set("Overdraft", events.Fields{"U D": events.Number("1")})},
		{limits, "Overdraft", set("Overdraft", tooMany(101, events.Number("1")))},
		{header, "ID", set("ID", "-")},
		{header, "Kind", set("Kind", "Transfer")},
		{header, "Description", set("Description", long(257))},
		{header, "Metadata", set("Metadata", tooMany(21, "x"))},
		{header, "Metadata", set("Metadata", tooMany(20, strings.Repeat("x", 203)))}, // 20 × (2 + 203) = 4,100
		{header, "Metadata", set("Metadata", events.Fields{"": "x"})},
		{header, "Metadata", set("Metadata", events.Fields{long(41): "x"})},
		{header, "Metadata", set("Metadata", events.Fields{"a": long(257)})},
		{header, "Metadata", set("Metadata", events.Fields{"a": events.Number("1")})},
		{header, "Metadata", set("Metadata", events.Fields{"a\xff": "x"})},
		{header, "Fingerprint", set("Fingerprint", "abc")},
		{header, "Fingerprint", set("Fingerprint", "1:")},
		{header, "Fingerprint", set("Fingerprint", "0:abc")},
		{header, "Fingerprint", set("Fingerprint", "01:abc")},
		{header, "Fingerprint", set("Fingerprint", "1:a b")},
		{header, "Fingerprint", set("Fingerprint", "1:é")},
		{header, "Fingerprint", set("Fingerprint", "1:"+strings.Repeat("x", 139))},
		{header, "Legs", func(f events.Fields) { f["Legs"] = f["Legs"].(events.List)[:1] }},
		{header, "Legs", func(f events.Fields) { f["Legs"] = make(events.List, 49) }},
		{header, "Legs[1]", func(f events.Fields) { f["Legs"].(events.List)[1] = "x" }},
		{header, "Legs[2].ID", func(f events.Fields) { leg(f, 2)["ID"] = leg(f, 1)["ID"] }},
		{header, "Legs[1].ID", func(f events.Fields) { leg(f, 0)["ID"], leg(f, 1)["ID"] = leg(f, 1)["ID"], leg(f, 0)["ID"] }},
		{header, "Legs[2].ID", setLeg(2, "ID", string(events.FirstKSUID(goldenAt.AddDate(1, 0, 0))))},
		{header, "Legs[0].ID", setLeg(0, "ID", "")},
		{header, "Legs[1].Account", setLeg(1, "Account", "")},
		{header, "Legs[1].Asset", setLeg(1, "Asset", "#")},
		{header, "Legs[0].Quantity", setLeg(0, "Quantity", events.Number("1"+strings.Repeat("0", 28)))},
		{header, "Legs[0].Cost", setLeg(0, "Cost", events.Number("-0"))},
		{header, "Legs[0].Cost", setLeg(0, "Cost", "0")},
		{header, "Legs[1].\"Extra\"", setLeg(1, "Extra", "x")},
		{header, "Legs[1].Cost", func(f events.Fields) { delete(leg(f, 1), "Cost") }},
		{posting, "ID", set("ID", greatestKSUID[:26]+"W")},
		{posting, "Quantity", set("Quantity", events.Number("+1"))},
		{posting, "Quantity", set("Quantity", events.Number(""))},
		{posting, "Quantity", set("Quantity", events.Number("1e3"))},
		{posting, "Cost", set("Cost", events.Number("-1"+strings.Repeat("0", 28)))},
		{posting, "Transaction", set("Transaction", "a/b")},
		{posting, "Kind", set("Kind", "gift")},
		{granted, "Role", set("Role", "admin")},
		{granted, "Number", set("Number", events.Number("0"))},
		{granted, "Number", set("Number", events.Number("1000000000000"))},
		{revoked, "Number", set("Number", events.Number("-1"))},
		{revoked, "User", set("User", "u 17")},
		{revoked, "\"Role\"", set("Role", "viewer")},
	} {
		f := fields(test.file)
		test.change(f)
		name, version := golden[test.file].EventName()
		e, err := events.Decode(name, version, f)
		if want := name + ": " + test.field + " "; e != nil || !errors.Is(err, events.ErrMalformedEvent) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q at fault", test.file, e, err, want)
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
		name, version := e.EventName()
		if back, err := events.Decode(name, version, events.Encode(e)); err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkDecode decodes what may be damaged: no panic, one of the two errors and no event, or an event with this form.
func checkDecode(t interface{ Fatalf(string, ...any) }, name string, version int, f events.Fields) {
	e, err := events.Decode(name, version, f)
	switch {
	case err != nil && (e != nil || errors.Is(err, events.ErrUnknownEvent) == errors.Is(err, events.ErrMalformedEvent)):
		t.Fatalf("Decode(%q, %d, %v) = %v, %v", name, version, f, e, err)
	case err == nil && !reflect.DeepEqual(events.Encode(e), f):
		t.Fatalf("Decode(%q, %d, %v) took it for %#v", name, version, f, e)
	}
}

// TestDecodeOfDamage replaces, adds and removes values anywhere in valid events.
func TestDecodeOfDamage(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Just(any(nil)), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(genID(), func(s string) any { return s }),
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
		e := genEvent().Draw(t, "event")
		name, version := e.EventName()
		f := events.Encode(e)
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			f = damage(t, f).(events.Fields)
		}
		checkDecode(t, name, version, f)
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
			checkDecode(t, s.Name, s.Version, fields)
		}
	})
}

// TestDecodeListed: what a list shows of an asset or account is decoded as strictly as the whole, without Actor and Profile.
func TestDecodeListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.OneOf(genAssetRegistered(), genAccountOpened()).Draw(t, "event")
		name, version := e.EventName()
		f := events.Encode(e)
		delete(f, "Actor")
		delete(f, "Profile")
		switch whole := e.(type) {
		case events.AssetRegistered:
			whole.Actor = ""
			e = whole
		case events.AccountOpened:
			whole.Actor, whole.Profile = "", ""
			e = whole
		}
		listed := maps.Clone(f)
		if got, err := events.DecodeListed(name, version, f); err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%#v, %v; want %#v", got, err, e)
		}
		if !reflect.DeepEqual(f, listed) {
			t.Fatalf("decoding changed the fields to %v", f)
		}
		f["ID"] = "a b"
		if got, err := events.DecodeListed(name, version, f); got != nil || !errors.Is(err, events.ErrMalformedEvent) {
			t.Fatalf("%v, %v; want ErrMalformedEvent", got, err)
		}
	})
	if e, err := events.DecodeListed("AssetRegistered", 1, nil); e != nil || !errors.Is(err, events.ErrMalformedEvent) {
		t.Errorf("of nil: %v, %v", e, err)
	}
	if e, err := events.DecodeListed("MemberGranted", 1, events.Encode(golden["MemberGranted.v1.json"])); e != nil || !errors.Is(err, events.ErrUnknownEvent) {
		t.Errorf("of a kind that no list shows: %v, %v", e, err)
	}
}
