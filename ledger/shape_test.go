package ledger_test

import (
	"fmt"
	"slices"
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

func sameFields(t *testing.T, got []ledger.FieldError, want ...string) {
	t.Helper()
	if len(got) == 0 && got != nil {
		t.Errorf("no faults, but not nil")
	}
	if names := ledger.Names(got); !slices.Equal(names, want) {
		t.Errorf("faults %v, want %v", got, want)
	}
	for _, f := range got {
		if f.Rule == "" {
			t.Errorf("%v has no rule", f.Field)
		}
	}
}

var (
	nines28 = strings.Repeat("9", 28)
	over28  = "1" + strings.Repeat("0", 28)
	id64    = strings.Repeat("x", 64)
)

func leg(account, asset, quantity, cost string) ledger.LegRequest {
	return ledger.LegRequest{Account: account, Asset: asset, Quantity: amount(quantity), Cost: amount(cost)}
}

// Each field is checked by itself. The wanted fields are in order.
func TestShape(t *testing.T) {
	type asset = ledger.RegisterAsset
	type account = ledger.OpenAccount
	type limits = map[string]events.Amount
	type grant = ledger.GrantMember
	limited := func(l limits) account { return account{ID: "a", Overdraft: events.Overdraft{Limits: l}} }
	many, pairs := limits{}, map[string]string{}
	for i := range 101 {
		many[fmt.Sprintf("a%03d", i)] = amount("1")
	}
	for i := range 21 {
		pairs[fmt.Sprint(i)] = "v"
	}
	addresses := func(n int) string {
		return `{"addresses":[` + strings.TrimSuffix(strings.Repeat(`{"city":"x"},`, n), ",") + `]}`
	}
	largest := `{"x":"` + strings.Repeat("ä", 2044) + `"}` // 4,096 bytes
	long, name := strings.Repeat("x", 257), strings.Repeat("ä", 256)
	bad := ledger.Annotation{ID: "a b"}
	bad.Description, bad.Metadata = "\xff", map[string]string{"k": "\xff"}
	for what, test := range map[string]struct {
		request interface{ Shape() []ledger.FieldError }
		want    string
	}{
		"asset at its limits": {asset{ID: id64, Name: name, Description: name, Scale: 18, Currency: "USD"}, ""},
		"least asset":         {asset{ID: "a", Name: "n"}, ""},
		"asset beyond limits": {asset{ID: id64 + "x", Name: long, Description: long, Scale: 19, Currency: "U S"},
			"id name description scale currency"},
		"asset of bad texts": {asset{ID: "-", Name: "\xff", Description: "a\x00b", Scale: -1},
			"id name description scale"},
		"asset of nothing":     {asset{}, "id name"},
		"its own currency":     {asset{ID: "a", Name: "n", Currency: "a"}, "currency"},
		"its own id, invalid":  {asset{ID: "é", Name: "n", Currency: "é"}, "id currency"},
		"least account":        {account{ID: "a"}, ""},
		"unlimited":            {account{ID: "a", Overdraft: events.Overdraft{Unlimited: true}}, ""},
		"spaces don't count":   {account{ID: "a", Profile: strings.Replace(largest, ":", " :\n ", 1)}, ""},
		"profile one above":    {account{ID: "a", Profile: strings.Replace(largest, "ä", "äx", 1)}, "profile"},
		"profile null":         {account{ID: "a", Profile: "null"}, "profile"},
		"profile two":          {account{ID: "a", Profile: "{} {}"}, "profile"},
		"profile not UTF-8":    {account{ID: "a", Profile: "{\"a\":\"\xff\"}"}, "profile"},
		"ten addresses":        {account{ID: "a", Profile: addresses(10)}, ""},
		"eleven addresses":     {account{ID: "a", Profile: addresses(11)}, "profile.addresses"},
		"address a text":       {account{ID: "a", Profile: `{"addresses":[{},"x"]}`}, "profile.addresses"},
		"addresses null":       {account{ID: "a", Profile: `{"addresses":null}`}, "profile.addresses"},
		"limits":               {limited(limits{"USD": amount(nines28), "EUR": amount("0")}), ""},
		"limit too large":      {limited(limits{"USD": amount(over28)}), "overdraft.USD"},
		"limit below zero":     {limited(limits{"EUR": amount("-1"), "XAU": amount("7")}), "overdraft.EUR"},
		"limit of no id":       {limited(limits{"": amount("1")}), "overdraft."},
		"many limits":          {limited(many), "overdraft"},
		"limits and unlimited": {account{ID: "a", Overdraft: events.Overdraft{Unlimited: true, Limits: limits{"USD": {}}}}, "overdraft"},
		"all of an account":    {account{ID: "é", Name: long, Profile: "1"}, "id name profile"},
		"grant":                {grant{Account: "a", User: "u", Role: events.RoleOwner}, ""},
		"all of a grant":       {grant{User: "u v", Role: "admin"}, "account user role"},
		"all of a closing":     {ledger.ClosePeriod{Reason: long}, "number closed_before reason"},
		"no reason":            {ledger.ClosePeriod{Number: 1, Before: events.Epoch()}, "reason"},
		"no role":              {grant{Account: "a", User: "u"}, "role"},
		"revocation":           {ledger.RevokeMember{Account: "a", User: "u"}, ""},
		"all of a revocation":  {ledger.RevokeMember{}, "account user"},
		"transaction": {ledger.PostTransaction{Postings: []ledger.LegRequest{
			leg("a", "USD", "-"+nines28, nines28), leg(id64, id64, "0", "0")}}, ""},
		"all of a transaction": {ledger.PostTransaction{Annotation: bad, Postings: []ledger.LegRequest{
			leg("a", "USD", "0", "0"), leg("", "U#D", over28, "-"+over28)}},
			"id description metadata.k postings[1].account postings[1].asset postings[1].quantity postings[1].cost"},
		"transfer": {ledger.PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: amount(nines28)}, ""},
		"21 pairs of metadata": {ledger.PostTransaction{
			Annotation: ledger.Annotation{Annotation: events.Annotation{Metadata: pairs}},
		}, "metadata"},
		"transfer of nothing": {ledger.PostTransfer{From: "a", To: "b", Asset: "USD"}, "quantity"},
		"all of a transfer": {ledger.PostTransfer{Annotation: bad, Quantity: amount("-1")},
			"id description metadata.k from to asset quantity"},
		"trade": {ledger.PostTrade{Asset: "USD", Buyer: "a", Seller: "b", Quantity: amount("1"), Cost: amount(nines28)}, ""},
		"trade too large": {ledger.PostTrade{Asset: "USD", Buyer: "a", Seller: "b",
			Quantity: amount(over28), Cost: amount("-" + over28)}, "quantity cost"},
		"all of a trade": {ledger.PostTrade{Annotation: bad, Cost: amount("-1")},
			"id description metadata.k buyer asset quantity cost seller"},
	} {
		t.Run(what, func(t *testing.T) { sameFields(t, test.request.Shape(), strings.Fields(test.want)...) })
	}
}
