package ledger

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/tests/harness/full"
)

// wholePart returns a number without its fraction.
func wholePart(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

// fairly divides a quantity by weights, with exact fractions: each gets what is due to it without the fraction, and then
// the units that are left go, one after the other, to whoever misses most.
func fairly(quantity *big.Int, weights []*big.Int) []*big.Int {
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	got, given := make([]*big.Int, len(weights)), new(big.Int)
	due := func(i int) *big.Rat {
		return new(big.Rat).Mul(new(big.Rat).SetInt(quantity), new(big.Rat).SetFrac(weights[i], sum))
	}
	for i := range weights {
		got[i] = wholePart(due(i))
		given.Add(given, got[i])
	}
	for given.Cmp(quantity) < 0 {
		neediest, misses := 0, new(big.Rat).SetInt64(-1)
		for i := range weights {
			if m := new(big.Rat).Sub(due(i), new(big.Rat).SetInt(got[i])); m.Cmp(misses) > 0 {
				neediest, misses = i, m
			}
		}
		got[neediest].Add(got[neediest], big.NewInt(1))
		given.Add(given, big.NewInt(1))
	}
	return got
}

// A shared is a portion as the test draws it.
type shared struct {
	share    string // as in the request, "" for none
	fraction *big.Rat
	quantity *big.Int
	rest     int64
}

// splitByFractions divides a quantity as the documents say. left is negative if the portions take too much.
func splitByFractions(quantity *big.Int, to []shared) (got []*big.Int, left *big.Int) {
	left = new(big.Int).Set(quantity)
	var at []int
	var weights []*big.Int
	for i, p := range to {
		part := new(big.Int)
		if p.fraction != nil {
			exact := new(big.Rat).Mul(new(big.Rat).SetInt(quantity), p.fraction)
			part = wholePart(exact.Add(exact, big.NewRat(1, 2)))
		}
		if p.quantity != nil {
			part.Add(part, p.quantity)
		}
		if p.rest > 0 {
			at, weights = append(at, i), append(weights, big.NewInt(p.rest))
		}
		got = append(got, part)
		left.Sub(left, part)
	}
	if left.Sign() > 0 && at != nil {
		for n, more := range fairly(left, weights) {
			got[at[n]] = more
		}
		left = new(big.Int)
	}
	return got, left
}

func drawShare(r *rand.Rand) (text string, fraction *big.Rat) {
	if r.IntN(2) == 0 {
		whole := 1 + r.Int64N([]int64{1, 3, 7, 119, 1000, 1_000_000_000}[r.IntN(6)])
		part := 1 + r.Int64N(whole)
		return fmt.Sprintf("%d/%d", part, whole), big.NewRat(part, whole)
	}
	text = fmt.Sprint(r.IntN(60))
	if decimals := r.IntN(10); decimals > 0 {
		text += "." + fmt.Sprintf("%09d", r.IntN(1_000_000_000))[:decimals]
	}
	fraction, _ = new(big.Rat).SetString(text)
	if fraction.Sign() == 0 {
		return "100%", big.NewRat(1, 1)
	}
	return text + "%", fraction.Mul(fraction, big.NewRat(1, 100))
}

// drawQuantity draws a quantity above zero, small or large.
func drawQuantity(r *rand.Rand) *big.Int {
	digits := []byte{byte('1' + r.IntN(9))}
	for range r.IntN([]int{1, 2, 4, 7, events.PostedDigits}[r.IntN(5)]) {
		digits = append(digits, byte('0'+r.IntN(10)))
	}
	n, _ := new(big.Int).SetString(string(digits), 10)
	return n
}

// drawSplit draws a split, and what it says in the words of the test. Most shares add up to less than the whole.
func drawSplit(t *testing.T, r *rand.Rand) (PostSplit, *big.Int, []shared) {
	quantity := drawQuantity(r)
	split, said := PostSplit{From: "payer", Asset: "EUR", Quantity: amountOf(quantity)}, []shared{}
	for range 1 + r.IntN(6) {
		var s shared
		switch r.IntN(5) {
		case 0, 1:
			s.rest = 1 + r.Int64N([]int64{1, 3, 1000, WeightMax}[r.IntN(4)])
		case 2:
			s.quantity = new(big.Int).Quo(drawQuantity(r), big.NewInt(7)) // perhaps zero
		case 3:
			s.share, s.fraction = drawShare(r)
		default:
			s.share, s.fraction = drawShare(r)
			s.quantity = big.NewInt(r.Int64N(5))
		}
		p := Portion{Account: fmt.Sprint("account-", r.IntN(4)), Rest: s.rest}
		if s.quantity != nil {
			p.Quantity = new(amountOf(s.quantity))
		}
		if s.share != "" {
			var ok bool
			if p.Share, ok = ParseShare(s.share); !ok {
				t.Fatalf("the share %q is refused", s.share)
			}
		}
		split.To, said = append(split.To, p), append(said, s)
	}
	return split, quantity, said
}

// Who gets what is, to the unit, what an implementation of its own says, which computes with exact fractions. So is
// what captures and reversals take of it, part by part, to the end.
func TestSplitsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	posted, refused, legsOf := 0, 0, map[int]int{}
	for range full.Count(20_000, 1_000_000) {
		split, quantity, said := drawSplit(t, r)
		got, left := splitByFractions(quantity, said)
		d := split.expand()
		if faults := d.shape(); faults != nil {
			t.Fatalf("%+v: %v", split, faults)
		}
		want := Code("")
		switch {
		case left.Sign() < 0:
			want = CodeInvalidTransaction
		case left.Sign() > 0:
			want = CodeUnbalanced
		}
		if err := d.rules(); want != "" {
			if refused++; err == nil || err.Code != want || !strings.HasSuffix(err.Fields[0].Rule, " "+new(big.Int).Abs(left).String()) {
				t.Fatalf("%+v: %v, want %s with %d", split, err, want, left)
			}
			continue
		} else if err != nil {
			t.Fatalf("%+v: %v", split, err)
		}
		legs := []LegRequest{{Account: "payer", Asset: "EUR", Quantity: amountOf(quantity).Neg()}}
		for i, n := range got {
			if n.Sign() > 0 {
				legs = append(legs, LegRequest{Account: split.To[i].Account, Asset: "EUR", Quantity: amountOf(n)})
			}
		}
		if !slices.Equal(d.legs, legs) || unbalanced(d.legs) != nil {
			t.Fatalf("%+v\ngot  %v\nwant %v", split, d.legs, legs)
		}
		posted++
		legsOf[len(legs)]++
		takeApart(t, r, legs)
	}
	if t.Log(posted, "posted", refused, "refused", legsOf); posted < refused/10 || refused < posted/10 || len(legsOf) < 6 {
		t.Error("the splits are too much alike")
	}
}

// takeApart takes parts by quantity of a transaction of one asset until nothing is left.
func takeApart(t *testing.T, r *rand.Rand, legs []LegRequest) {
	posted, left := events.TransactionPosted{Kind: events.KindTransaction}, make([]*big.Int, len(legs))
	for i, leg := range legs {
		posted.Legs = append(posted.Legs, events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity})
		left[i] = bigOf(leg.Quantity)
	}
	for left[0].Sign() < 0 {
		whole := new(big.Int).Neg(left[0])
		quantity := new(big.Int).Quo(whole, big.NewInt(1+r.Int64N(3)))
		if quantity.Sign() == 0 || r.IntN(8) == 0 {
			quantity.SetInt64(1)
		}
		remain := make([]events.Taken, len(left))
		for i, n := range left {
			remain[i].Quantity = amountOf(n)
		}
		part := Part{Quantity: new(amountOf(quantity))}
		taken, err := part.takenFrom(posted, posted.Legs, remain)
		if err != nil || part.exceeding(taken, posted, remain) != nil {
			t.Fatalf("%v of %v: %v", quantity, left, err)
		}
		want := append([]*big.Int{new(big.Int).Neg(quantity)}, fairly(quantity, left[1:])...)
		for i, n := range want {
			if taken[i] != (events.Taken{Quantity: amountOf(n)}) {
				t.Fatalf("%v of %v: %v, want %v", quantity, left, taken, want)
			}
			if left[i].Sub(left[i], n); left[i].Sign()*n.Sign() < 0 {
				t.Fatalf("%v of %v takes more than is left", quantity, legs)
			}
		}
		more := Part{Quantity: new(amountOf(whole.Add(whole, big.NewInt(1))))}
		taken, err = more.takenFrom(posted, posted.Legs, remain)
		if err != nil || len(more.exceeding(taken, posted, remain)) != 1 {
			t.Fatalf("one more than is left of %v: %v, %v", remain, taken, err)
		}
	}
}

// The examples of the documents.
func TestSplits(t *testing.T) {
	portion := func(text string) (p Portion) {
		p.Account = "x"
		for part := range strings.SplitSeq(text, "+") {
			rest, isRest := strings.CutPrefix(part, "rest*")
			share, isShare := ParseShare(part)
			n, _ := events.ParseAmount(strings.TrimSpace(rest), events.PostedDigits)
			switch {
			case isRest:
				p.Rest = bigOf(n).Int64()
			case isShare:
				p.Share = share
			default:
				p.Quantity = &n
			}
		}
		return p
	}
	for asked, want := range map[string]string{
		"10000: 2.9%+30 19/119 rest*1": "320 1597 8083",
		"101: 2.9% 19% rest*1":         "3 19 79",
		"101: rest*1 19% 2.9%":         "79 19 3", // a tax does not depend on the order
		"100: rest*1 rest*1 rest*1":    "34 33 33",
		"100: rest*1 rest*2":           "33 67",
		"1: rest*1 rest*1 rest*1":      "1 0 0",
		"3: 50% rest*1":                "2 1", // rounded half up
		"1051: 50% 50%":                "invalid_transaction",
		"1051: 50% 50% rest*1":         "invalid_transaction",
		"1050: 50% 50%":                "525 525",
		"1050: 50% 50% rest*1":         "525 525 0",
		"100: 40 61":                   "invalid_transaction",
		"100: 40 50":                   "unbalanced",
		"100: 99.999999999%":           "100",
		"1: 0.000000001% rest*1":       "0 1",
		"100: 100%":                    "100",
		"100: 0 100":                   "0 100",
		"9999999999999999999999999999: 1/3 rest*1000000000 rest*1": "3333333333333333333333333333 6666666660000000006666666659 6666666660000000007",
	} {
		quantity, to, _ := strings.Cut(asked, ": ")
		split := PostSplit{From: "payer", Asset: "EUR"}
		split.Quantity, _ = events.ParseAmount(quantity, events.PostedDigits)
		for text := range strings.FieldsSeq(to) {
			split.To = append(split.To, portion(text))
		}
		d := split.expand()
		got := strings.Trim(fmt.Sprint(d.split.amounts), "[]")
		if err := d.rules(); err != nil {
			got = string(err.Code)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", asked, got, want)
		}
	}
}

// Shares are in percent or a fraction, and equal ones have one form.
func TestShares(t *testing.T) {
	for text, want := range map[string]string{
		"2.9%": "29/1000", "2.90%": "29/1000", "29/1000": "29/1000", "58/2000": "29/1000", "19/119": "19/119",
		"100%": "1/1", "100.000000000%": "1/1", "1/1": "1/1", "1000000000/1000000000": "1/1", "50%": "1/2",
		"0.000000001%": "1/100000000000", "99.999999999%": "99999999999/100000000000", "0.5%": "1/200",
		"1/1000000000": "1/1000000000", "33.333333333%": "33333333333/100000000000",

		"": "", "%": "", "0%": "", "0.0%": "", "0.000000000%": "", "100.000000001%": "", "101%": "", "1000%": "", "-1%": "",
		"+1%": "", " 1%": "", "1 %": "", "1%%": "", "01%": "", "00%": "", ".5%": "", "5.%": "", "1.1234567890%": "", "1,5%": "",
		"1e1%": "", "2.9": "", "1": "", "0/1": "", "1/0": "", "0/0": "", "2/1": "", "1/": "", "/1": "", "/": "", "1/2/3": "", "01/2": "",
		"1/02": "", "1/1000000001": "", "1000000001/1000000001": "", "-1/2": "", "1/-2": "", "1.5/2": "", "1/2%": "",
		"99999999999999999999/1": "", "1/99999999999999999999": "", "٣%": "", "1/2\x00": "",
	} {
		got, ok := ParseShare(text)
		if got.String() != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, ok, want)
		}
	}
}

// All faults of a split are found at once.
func TestFaultsOfASplit(t *testing.T) {
	n := func(of int64) *events.Amount { return new(events.NewAmount(of)) }
	half, _ := ParseShare("1/2")
	long := make([]Portion, PortionsMax+1)
	for i := range long {
		long[i] = Portion{Account: "b", Rest: 1}
	}
	nothing := slices.Concat(long[:PortionsMax-1], []Portion{{Account: "b", Quantity: n(0)}})
	for what, test := range map[string]struct {
		quantity int64
		to       []Portion
		want     string
	}{
		"whole":           {10, []Portion{{Account: "b", Rest: 1}}, ""},
		"47 and nothing":  {1000, nothing, ""},
		"48":              {1000, long[:PortionsMax], "invalid_transaction to"},
		"48, of few":      {47, long[:PortionsMax], ""},
		"49":              {1000, long, "invalid_transaction to"},
		"nobody":          {10, nil, "invalid_transaction to"},
		"itself, twice":   {10, []Portion{{Account: "a", Rest: 1}, {Account: "a", Rest: 1}}, "invalid_transaction from to[0].account from to[1].account"},
		"of nothing":      {10, []Portion{{Account: "b"}, {Account: "c", Rest: 1}}, "invalid_transaction to[0]"},
		"rest and share":  {10, []Portion{{Account: "b", Share: half, Rest: 1}}, "invalid_transaction to[0].rest"},
		"rest and some":   {10, []Portion{{Account: "b", Quantity: n(0), Rest: 1}}, "invalid_transaction to[0].rest"},
		"too much":        {10, []Portion{{Account: "b", Share: half, Quantity: n(6)}}, "invalid_transaction to"},
		"too little":      {10, []Portion{{Account: "b", Share: half, Quantity: n(4)}}, "unbalanced to"},
		"all of them":     {10, []Portion{{Account: "a", Quantity: n(11)}, {Account: "b"}, {Account: "b", Share: half, Rest: 1}}, "invalid_transaction from to[0].account to[1] to[2].rest to"},
		"invalid amounts": {-1, []Portion{{Account: "b c", Quantity: n(-1)}, {Account: "c", Rest: -1}, {Account: "c", Rest: WeightMax + 1}}, "invalid_request quantity to[0].account to[0].quantity to[1].rest to[2].rest"},
		"zero":            {0, []Portion{{Account: "b", Rest: 1}}, "invalid_request quantity"},
	} {
		err := Check(PostSplit{From: "a", Asset: "EUR", Quantity: *n(test.quantity), To: test.to})
		got := ""
		if err != nil {
			e := err.(*Error)
			got = string(e.Code)
			for _, f := range e.Fields {
				name := f.Field.Name
				if f.Field.Leg > 0 {
					name = strings.TrimSuffix(fmt.Sprintf("%s[%d].%s", f.Field.List, f.Field.Leg-1, name), ".")
				}
				got += " " + name
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", what, got, test.want)
		}
	}
}
