package ledger_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

func amount(s string) events.Amount {
	a, err := events.ParseAmount(s, events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	return a
}

// fieldsOf returns the names of the fields at fault.
func fieldsOf(faults []ledger.FieldError) []string {
	names := []string{}
	for _, f := range faults {
		names = append(names, f.Field)
	}
	return names
}

func sameFields(t *testing.T, got []ledger.FieldError, want ...string) {
	t.Helper()
	if len(got) == 0 && got != nil {
		t.Errorf("no faults, but not nil")
	}
	if want == nil {
		want = []string{}
	}
	if names := fieldsOf(got); !reflect.DeepEqual(names, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
	for _, f := range got {
		if f.Rule == "" {
			t.Errorf("%s has no rule", f.Field)
		}
	}
}

var (
	nines28 = strings.Repeat("9", 28)
	over28  = "1" + strings.Repeat("0", 28)
	id64    = strings.Repeat("x", 64)
)

func TestShapeOfAsset(t *testing.T) {
	good := ledger.RegisterAsset{ID: id64, Name: strings.Repeat("ä", 256), Description: strings.Repeat("☃", 256), Scale: 18, Currency: "USD"}
	for name, test := range map[string]struct {
		change func(*ledger.RegisterAsset)
		want   []string
	}{
		"at its limits":      {func(r *ledger.RegisterAsset) {}, nil},
		"least":              {func(r *ledger.RegisterAsset) { *r = ledger.RegisterAsset{ID: "a", Name: "n"} }, nil},
		"id of 65":           {func(r *ledger.RegisterAsset) { r.ID += "x" }, []string{"id"}},
		"no id":              {func(r *ledger.RegisterAsset) { r.ID = "" }, []string{"id"}},
		"id begins with dot": {func(r *ledger.RegisterAsset) { r.ID = ".x" }, []string{"id"}},
		"bidi in id":         {func(r *ledger.RegisterAsset) { r.ID = "x\u202ey" }, []string{"id"}},
		"no name":            {func(r *ledger.RegisterAsset) { r.Name = "" }, []string{"name"}},
		"long name":          {func(r *ledger.RegisterAsset) { r.Name += "x" }, []string{"name"}},
		"name not UTF-8":     {func(r *ledger.RegisterAsset) { r.Name = "\xff" }, []string{"name"}},
		"NUL in description": {func(r *ledger.RegisterAsset) { r.Description = "a\x00b" }, []string{"description"}},
		"long description":   {func(r *ledger.RegisterAsset) { r.Description += "x" }, []string{"description"}},
		"scale below":        {func(r *ledger.RegisterAsset) { r.Scale = -1 }, []string{"scale"}},
		"scale above":        {func(r *ledger.RegisterAsset) { r.Scale = 19 }, []string{"scale"}},
		"currency no id":     {func(r *ledger.RegisterAsset) { r.Currency = "U S" }, []string{"currency"}},
		"its own currency":   {func(r *ledger.RegisterAsset) { r.Currency = r.ID }, []string{"currency"}},
		"all at once": {func(r *ledger.RegisterAsset) {
			*r = ledger.RegisterAsset{Description: "\x00", Scale: 20, Currency: "-"}
		},
			[]string{"id", "name", "description", "scale", "currency"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			test.change(&r)
			sameFields(t, r.Shape(), test.want...)
		})
	}
}

func addresses(n int) string {
	return `{"addresses":[` + strings.TrimSuffix(strings.Repeat(`{"city":"x"},`, n), ",") + `]}`
}

func TestShapeOfAccount(t *testing.T) {
	many := map[string]events.Amount{}
	for i := range 101 {
		many[fmt.Sprintf("a%03d", i)] = amount("1")
	}
	// A profile of exactly 4,096 bytes, with white space that doesn't count.
	largest := `{"x":"` + strings.Repeat("ä", 2044) + `"}`
	for name, test := range map[string]struct {
		r    ledger.OpenAccount
		want []string
	}{
		"least":             {ledger.OpenAccount{ID: "a"}, nil},
		"empty profile":     {ledger.OpenAccount{ID: "a", Profile: "{}"}, nil},
		"unlimited":         {ledger.OpenAccount{ID: "a", Overdraft: events.Overdraft{Unlimited: true}}, nil},
		"largest profile":   {ledger.OpenAccount{ID: "a", Profile: strings.Replace(largest, ":", " :\n ", 1)}, nil},
		"profile one above": {ledger.OpenAccount{ID: "a", Profile: strings.Replace(largest, "ä", "äx", 1)}, []string{"profile"}},
		"profile a list":    {ledger.OpenAccount{ID: "a", Profile: "[]"}, []string{"profile"}},
		"profile null":      {ledger.OpenAccount{ID: "a", Profile: "null"}, []string{"profile"}},
		"profile two":       {ledger.OpenAccount{ID: "a", Profile: "{} {}"}, []string{"profile"}},
		"profile not UTF-8": {ledger.OpenAccount{ID: "a", Profile: "{\"a\":\"\xff\"}"}, []string{"profile"}},
		"ten addresses":     {ledger.OpenAccount{ID: "a", Profile: addresses(10)}, nil},
		"eleven addresses":  {ledger.OpenAccount{ID: "a", Profile: addresses(11)}, []string{"profile.addresses"}},
		"address a text":    {ledger.OpenAccount{ID: "a", Profile: `{"addresses":[{},"x"]}`}, []string{"profile.addresses"}},
		"addresses null":    {ledger.OpenAccount{ID: "a", Profile: `{"addresses":null}`}, []string{"profile.addresses"}},
		"addresses one":     {ledger.OpenAccount{ID: "a", Profile: `{"addresses":{}}`}, []string{"profile.addresses"}},
		"limits": {ledger.OpenAccount{ID: "a", Overdraft: events.Overdraft{Limits: map[string]events.Amount{
			"USD": amount(nines28), "EUR": amount("0")}}}, nil},
		"bad limits": {ledger.OpenAccount{ID: "a", Overdraft: events.Overdraft{Limits: map[string]events.Amount{
			"USD": amount(over28), "EUR": amount("-1"), "a b": amount("1"), "XAU": amount("7")}}},
			[]string{"overdraft.EUR", "overdraft.USD", "overdraft.a b"}},
		"many limits": {ledger.OpenAccount{ID: "a", Overdraft: events.Overdraft{Limits: many}}, []string{"overdraft"}},
		"both":        {ledger.OpenAccount{ID: "a", Overdraft: events.Overdraft{Unlimited: true, Limits: map[string]events.Amount{"USD": amount("1")}}}, []string{"overdraft"}},
		"all at once": {ledger.OpenAccount{ID: "é", Name: strings.Repeat("x", 257), Profile: "1", Overdraft: events.Overdraft{Limits: map[string]events.Amount{"": {}}}},
			[]string{"id", "name", "profile", "overdraft."}},
	} {
		t.Run(name, func(t *testing.T) { sameFields(t, test.r.Shape(), test.want...) })
	}
	if n := len(largest); n != 4096 {
		t.Errorf("the largest profile has %d bytes", n)
	}
}

func TestShapeOfMember(t *testing.T) {
	sameFields(t, ledger.GrantMember{Account: "a", User: "u", Role: events.RoleOwner}.Shape())
	sameFields(t, ledger.GrantMember{Account: "", User: "u v", Role: "admin"}.Shape(), "account", "user", "role")
	sameFields(t, ledger.GrantMember{Account: "a", User: "u"}.Shape(), "role")
	sameFields(t, ledger.RevokeMember{Account: "a", User: "u"}.Shape())
	sameFields(t, ledger.RevokeMember{}.Shape(), "account", "user")
}

func TestShapeOfAnnotation(t *testing.T) {
	pairs := func(n, keyChars, valueChars int) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("%0*d", keyChars, i)] = strings.Repeat("v", valueChars)
		}
		return m
	}
	long := strings.Repeat("k", 41)
	for name, test := range map[string]struct {
		a    ledger.Annotation
		want []string
	}{
		"none":             {ledger.Annotation{}, nil},
		"id":               {ledger.Annotation{ID: "-x"}, []string{"id"}},
		"description":      {ledger.Annotation{Description: strings.Repeat("ä", 257)}, []string{"description"}},
		"20 pairs":         {ledger.Annotation{Metadata: pairs(20, 40, 164)}, nil}, // 4,080 bytes
		"21 pairs":         {ledger.Annotation{Metadata: pairs(21, 5, 5)}, []string{"metadata"}},
		"bytes":            {ledger.Annotation{Metadata: pairs(16, 40, 216)}, nil}, // 4,096 bytes
		"one byte more":    {ledger.Annotation{Metadata: with(pairs(16, 40, 216), strings.Repeat("0", 40), strings.Repeat("v", 217))}, []string{"metadata"}},
		"bytes, not chars": {ledger.Annotation{Metadata: map[string]string{"a": strings.Repeat("☃", 256), "b": strings.Repeat("☃", 256), "c": strings.Repeat("☃", 256), "d": strings.Repeat("☃", 256), "e": strings.Repeat("☃", 256), "f": strings.Repeat("☃", 256)}}, []string{"metadata"}},
		"characters":       {ledger.Annotation{Metadata: map[string]string{strings.Repeat("ä", 40): strings.Repeat("☃", 256)}}, nil},
		"long value":       {ledger.Annotation{Metadata: map[string]string{"key": strings.Repeat("v", 257)}}, []string{"metadata.key"}},
		"long key":         {ledger.Annotation{Metadata: map[string]string{long: "v"}}, []string{"metadata." + long}},
		"empty key":        {ledger.Annotation{Metadata: map[string]string{"": "v"}}, []string{"metadata."}},
		"once for a pair":  {ledger.Annotation{Metadata: map[string]string{long: "\xff", "b": "\x00", "a": "fine"}}, []string{"metadata.b", "metadata." + long}},
	} {
		t.Run(name, func(t *testing.T) {
			transfer := ledger.PostTransfer{Annotation: test.a, From: "a", To: "b", Asset: "USD", Quantity: amount("1")}
			sameFields(t, transfer.Shape(), test.want...)
			trade := ledger.PostTrade{Annotation: test.a, Asset: "USD", Buyer: "a", Seller: "b", Quantity: amount("1")}
			sameFields(t, trade.Shape(), test.want...)
			sameFields(t, ledger.PostTransaction{Annotation: test.a}.Shape(), test.want...)
		})
	}
}

func with(m map[string]string, key, value string) map[string]string { m[key] = value; return m }

func TestShapeOfPostings(t *testing.T) {
	bad := ledger.Annotation{ID: "a b", Description: "\xff", Metadata: map[string]string{"k": "\xff"}}
	for name, test := range map[string]struct {
		r    ledger.PostingRequest
		want []string
	}{
		"transaction": {ledger.PostTransaction{Postings: []ledger.LegRequest{
			{Account: "a", Asset: "USD", Quantity: amount("-" + nines28), Cost: amount(nines28)}, {Account: id64, Asset: id64}}}, nil},
		"transaction, each field": {ledger.PostTransaction{Annotation: bad, Postings: []ledger.LegRequest{
			{Account: "a", Asset: "USD"}, {Account: "", Asset: "U#D", Quantity: amount(over28), Cost: amount("-" + over28)}}},
			[]string{"id", "description", "metadata.k", "postings[1].account", "postings[1].asset", "postings[1].quantity", "postings[1].cost"}},
		"transfer":             {ledger.PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: amount(nines28)}, nil},
		"transfer, each field": {ledger.PostTransfer{Annotation: bad, Quantity: amount("-1")}, []string{"id", "description", "metadata.k", "from", "to", "asset", "quantity"}},
		"transfer of nothing":  {ledger.PostTransfer{From: "a", To: "b", Asset: "USD"}, []string{"quantity"}},
		"transfer too large":   {ledger.PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: amount(over28)}, []string{"quantity"}},
		"trade":                {ledger.PostTrade{Asset: "USD", Buyer: "a", Seller: "b", Quantity: amount("1"), Cost: amount(nines28)}, nil},
		"trade, each field": {ledger.PostTrade{Annotation: bad, Quantity: amount("0"), Cost: amount("-1")},
			[]string{"id", "description", "metadata.k", "asset", "buyer", "seller", "quantity", "cost"}},
		"trade too large": {ledger.PostTrade{Asset: "USD", Buyer: "a", Seller: "b", Quantity: amount(over28), Cost: amount("-" + over28)}, []string{"quantity", "cost"}},
	} {
		t.Run(name, func(t *testing.T) { sameFields(t, test.r.Shape(), test.want...) })
	}
}

func TestRules(t *testing.T) {
	leg := func(account, asset, quantity, cost string) ledger.LegRequest {
		return ledger.LegRequest{Account: account, Asset: asset, Quantity: amount(quantity), Cost: amount(cost)}
	}
	legs := func(n int) (all []ledger.LegRequest) {
		for i := range n {
			all = append(all, leg("a", "USD", []string{"1", "-1"}[i%2], "0"))
		}
		return all
	}
	for name, test := range map[string]struct {
		r     ledger.PostingRequest
		code  ledger.Code
		want  []string
		rules string // what the rules must contain
	}{
		"two":      {ledger.PostTransaction{Postings: legs(2)}, "", nil, ""},
		"most":     {ledger.PostTransaction{Postings: legs(48)}, "", nil, ""},
		"none":     {ledger.PostTransaction{}, ledger.CodeInvalidTransaction, []string{"postings"}, ""},
		"one":      {ledger.PostTransaction{Postings: legs(1)}, ledger.CodeInvalidTransaction, []string{"postings"}, "not 1"},
		"too many": {ledger.PostTransaction{Postings: legs(50)}, ledger.CodeInvalidTransaction, []string{"postings"}, "not 50"},
		"all zero": {ledger.PostTransaction{Postings: []ledger.LegRequest{leg("a", "USD", "0", "0"), leg("b", "USD", "1", "0"), leg("c", "EUR", "0", "0")}},
			ledger.CodeInvalidTransaction, []string{"postings[0]", "postings[2]"}, ""},
		"cost alone": {ledger.PostTransaction{Postings: []ledger.LegRequest{leg("a", "AAPL", "0", "5"), leg("b", "AAPL", "0", "-5")}}, "", nil, ""},
		"quantities": {ledger.PostTransaction{Postings: []ledger.LegRequest{leg("a", "USD", "-10", "0"), leg("b", "USD", "7", "0"), leg("b", "EUR", "3", "0")}},
			ledger.CodeUnbalanced, []string{"postings", "postings"}, "USD must sum to 0, not to -3"},
		"costs": {ledger.PostTransaction{Postings: []ledger.LegRequest{leg("a", "USD", "-1", "4"), leg("b", "USD", "1", "-5")}},
			ledger.CodeUnbalanced, []string{"postings"}, "costs of USD must sum to 0, not to -1"},
		// Assets don't make up for each other, nor quantities for costs.
		"across": {ledger.PostTransaction{Postings: []ledger.LegRequest{leg("a", "USD", "-1", "1"), leg("b", "EUR", "1", "-1")}},
			ledger.CodeUnbalanced, []string{"postings", "postings", "postings", "postings"}, "EUR"},
		"largest":       {ledger.PostTransaction{Postings: slicesOf(24, leg("a", "USD", nines28, "0"), leg("b", "USD", "-"+nines28, "0"))}, "", nil, ""},
		"largest, off":  {ledger.PostTransaction{Postings: slicesOf(24, leg("a", "USD", nines28, "0"), leg("b", "USD", nines28, "0"))}, ledger.CodeUnbalanced, []string{"postings"}, "479999999999999999999999999952"},
		"transfer":      {ledger.PostTransfer{From: "a", To: "A"}, "", nil, ""},
		"transfer same": {ledger.PostTransfer{From: "a", To: "a"}, ledger.CodeInvalidTransaction, []string{"from", "to"}, ""},
		"trade":         {ledger.PostTrade{Buyer: "a", Seller: "b"}, "", nil, ""},
		"trade same":    {ledger.PostTrade{Buyer: "a", Seller: "a"}, ledger.CodeInvalidTransaction, []string{"buyer", "seller"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.r.Rules()
			if test.code == "" {
				if err != nil {
					t.Errorf("refused: %v %v", err, err.Fields)
				}
				return
			}
			if err == nil || err.Code != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
			sameFields(t, err.Fields, test.want...)
			if all := fmt.Sprint(err.Fields); !strings.Contains(all, test.rules) {
				t.Errorf("rules %s, want %q in them", all, test.rules)
			}
		})
	}
}

func slicesOf(n int, legs ...ledger.LegRequest) (all []ledger.LegRequest) {
	for range n {
		all = append(all, legs...)
	}
	return all
}
