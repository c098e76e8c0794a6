package units

import (
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// Every notation reads back what it prints, and no notation reads an amount with decimals that another one prints as
// another amount.
func TestNotationsReadWhatTheyPrint(t *testing.T) {
	all := append(Notations(), Plain)
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]int{0, 1, 2, 4, 18}).Draw(t, "scale")
		a, err := events.ParseAmount(rapid.StringMatching(`0|-?[1-9][0-9]{0,27}`).Draw(t, "amount"), events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			shown := n.Print(a.Decimal(scale))
			if back, err := n.Parse(shown, scale); err != nil || back != a {
				t.Fatalf("%s prints %s and reads %s, %v", n.Name, shown, back, err)
			}
			for _, other := range all {
				if read, err := other.Parse(shown, scale); scale != 0 && err == nil && read != a {
					t.Fatalf("%s prints %s, and %s reads %s", n.Name, shown, other.Name, read)
				}
			}
		}
	})
}

// People write amounts in their notation, with or without groups and the unit. What could be another amount is refused.
func TestFigures(t *testing.T) {
	point, comma, space, swiss := forPeople[0], forPeople[1], forPeople[2], forPeople[3]
	for _, c := range []struct {
		in         Notation
		text, want string // "" if it is refused
		unit       string
	}{
		{point, "1,234.56", "1234.56", ""}, {point, "1234.56", "1234.56", ""}, {point, "-1,234", "-1234", ""},
		{point, "−3.00", "-3.00", ""}, {point, "$3.00", "3.00", "$"}, {point, "-$3.00", "-3.00", "$"},
		{point, "$-3.00", "-3.00", "$"}, {point, "3.00 USD", "3.00", "USD"}, {point, "USD 1,234.56", "1234.56", "USD"},
		{point, "3.00€", "3.00", "€"}, {point, "3,00", "", ""}, {point, "1,23,456", "", ""}, {point, "1.234,56", "", ""},
		{point, "1,234.5.6", "", ""}, {point, "$3.00 USD", "", ""}, {point, "USD", "", ""}, {point, "", "", ""},
		{point, "order-3", "", ""}, {point, "--3", "", ""}, {point, ".5", "", ""}, {point, "1 234.56", "", ""},
		{comma, "3,00", "3.00", ""}, {comma, "1.234,56", "1234.56", ""}, {comma, "€1.234", "1234", "€"},
		{comma, "3.00", "", ""}, {comma, "1,234.56", "", ""}, {comma, "1.5", "", ""},
		{space, "1\u202f234,56", "1234.56", ""}, {space, "1 234 567,8", "1234567.8", ""}, {space, "1 234\u00a0567", "", ""},
		{swiss, "1'234.56", "1234.56", ""}, {swiss, "1’234.56", "1234.56", ""},
	} {
		f, ok := c.in.Figure(c.text)
		if ok != (c.want != "") || ok && f != (Figure{c.want, c.unit}) {
			t.Errorf("%s reads %q as %+v, %t", c.in.Name, c.text, f, ok)
		}
	}
	for _, c := range []struct {
		unit, asset string
		want        bool
	}{
		{"", "X", true}, {"$", "USD", true}, {"$", "usd:cash", true}, {"$", "EUR", false}, {"usd", "USD", true},
		{"USD", "EUR", false}, {"$", "USDX", false},
	} {
		if (Figure{Unit: c.unit}).IsOf(c.asset) != c.want {
			t.Errorf("%q of %s: %t", c.unit, c.asset, !c.want)
		}
	}
}
