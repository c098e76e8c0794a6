package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// A capture is before the time of expiry by its KSUIDs, too: a minter may be ahead of its clock.
func TestCaptureIsBeforeExpiryByItsKSUIDs(t *testing.T) {
	expires := events.Epoch().Add(time.Hour)
	for at, late := range map[time.Duration]bool{-time.Microsecond: false, 0: true, time.Microsecond: true} {
		hold := drafted(PostTransfer{From: "jane", To: "bob", Asset: "USD", Quantity: events.NewAmount(5)})
		hold.ExpiresAt = expires
		r := &request{draft: CaptureRequest{}.expand(), plan: plan{header: hold, taken: amountsOf(hold.Legs)}}
		first := events.FirstKSUID(expires.Add(at))
		end, err := r.buildEnd(expires.Add(-time.Second), []events.KSUID{first, first})
		if (err != nil) != late || !late && end.Outcome != events.OutcomeCaptured {
			t.Errorf("%v from expiry: %+v, %v", at, end, err)
		}
	}
}

// For amounts of any size, the amount spent stays within 38 digits, and a bound does not overflow.
func TestBoundOfLargeAmounts(t *testing.T) {
	most, posted := events.MaxFolded(), mostPosted
	for name, l := range map[string]limit{
		"credits at the end": {credits: most, gross: events.NewAmount(1)},
		"own credits beyond": {credits: most, ownCredits: posted, gross: posted},
		"overdraft beyond":   {credits: most, overdraft: posted, gross: posted},
		"all":                {credits: most, ownCredits: posted, overdraft: posted, gross: events.NewAmount(7)},
		"nothing":            {gross: addSaturating(posted, posted)},
	} {
		l.account = Account{State: events.StateOpen}
		spent, err := l.bound().Add(l.gross)
		if err != nil || spent.Cmp(most) > 0 {
			t.Errorf("%s: bound %v lets %v be spent", name, l.bound(), spent)
		}
		if want := addSaturating(addSaturating(l.credits, l.ownCredits), l.overdraft); spent != want {
			t.Errorf("%s: up to %v may be spent, want %v", name, spent, want)
		}
	}
	if got := addSaturating(most.Neg(), posted.Neg()); got != most.Neg() {
		t.Errorf("below the least: %v", got)
	}
	if got := mostPosted.String(); got != strings.Repeat("9", 28) {
		t.Errorf("the largest posted amount is %s", got)
	}
}

// drafted returns the header of a request.
func drafted(r Request) events.TransactionPosted {
	d := r.expand()
	t := events.TransactionPosted{ID: "t-1", Kind: d.kind}
	for _, leg := range d.legs {
		t.Legs = append(t.Legs, events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost})
	}
	return t
}

// The number of reversals of a transaction is limited.
func TestReversalsAreLimited(t *testing.T) {
	transfer := PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: events.NewAmount(9000)}
	lifecycle := Lifecycle{Transaction: events.Transaction{Header: drafted(transfer)}}
	one := []events.Taken{{Quantity: events.NewAmount(-1)}, {Quantity: events.NewAmount(1)}}
	for range events.ReversalsMax {
		if err := (Part{}).reversible(lifecycle, one, lifecycle.Left()); err != nil {
			t.Fatal(err)
		}
		lifecycle.Reversals = append(lifecycle.Reversals, events.TransactionReversed{Taken: one})
	}
	if err := (Part{}).reversible(lifecycle, one, lifecycle.Left()); err == nil || err.Code != CodeExceedsReversible {
		t.Error(err)
	}
}

// Stored headers have these fingerprints. From the first release on, add vectors, and never edit them. They were computed
// by independent code from the rule's description.
func TestFingerprintVectors(t *testing.T) {
	n := events.NewAmount
	at, err := time.Parse(time.RFC3339, "2026-11-28T10:06:39.1234567+01:00")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(at *time.Time) Annotation {
		return Annotation{ID: "h-1", Actor: "local", Hold: &HoldRequest{ExpiresAt: at}}
	}
	reverse := func(p Part) Request {
		return ReverseRequest{Annotation: Annotation{ID: "r-1"}, Transaction: "t-1", Part: p}
	}
	said := func(text string, metadata map[string]string) events.Annotation {
		return events.Annotation{Description: text, Metadata: metadata}
	}
	noted := Annotation{Annotation: said("returned ☃", map[string]string{"order": "1001", "a": "x"}), Actor: "local"}
	four := n(4)
	share := func(text string) Share {
		s, _ := ParseShare(text)
		return s
	}
	effective := func(id string) Annotation { return Annotation{ID: id, EffectiveAt: &at} }
	for want, r := range map[string]Request{
		"1:h7wZZQhTzsZhX0uJexVJ-n-YGUUjqU56pGcezN7HpwA": PostTransfer{From: "jane", To: "shop", Asset: "USD", Quantity: n(2500)},
		"1:SIFfBA87NpPS7Gf0aLDj1XhH-Ob8QQCGK0QkBDCcOdA": PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: n(10), Cost: n(150000), Settle: true},
		"1:vI3CYoqP65bZDMFfDksgfFXy7ueSzX7xxYgBCxSy8jE": PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: n(10)},
		"1:ySk4JDzezcvYNXao7ufLy09oiD7ThI-R2UDjA5QwpC8": PostTransaction{
			Annotation: Annotation{ID: "order-1001", Annotation: said("Card order ☃", map[string]string{"order": "1001", "b": "", "a": "x"}), Actor: "local"},
			Postings: []LegRequest{
				{Account: "jane", Asset: "USD", Quantity: n(-2500)}, {Account: "shop", Asset: "USD", Quantity: n(2400), Cost: n(7)},
				{Account: "fees", Asset: "USD", Quantity: n(100), Cost: n(-7)},
			},
		},
		"1:lMxByM3NFJxYbrOvbnBGk2VoOsxrrkT0bOPe3jkbLjg": PostTransaction{},
		"1:GZSt2radRFroC-AFQanh15j3iMNwb_KSzkPLByKZMlM": PostTransfer{hold(nil), "jane", "shop", "USD", n(2500), nil},
		"1:xuqJLqv6cWIFEyxeaDbabDPF1nL8H7bXxUKbcb9mjGs": PostTransfer{hold(&at), "jane", "shop", "USD", n(2500), nil},
		"1:1aG7bUj0UJoehmUN4c5sCRymLhQHaDwybtvVBVbFCX4": PostTrade{hold(nil), "AAPL", "jane", "market", n(10), n(150000), true},
		"1:KS_p53iacO0WD1Odgd2AmPW_ftaJqwmoNlvCgrWY_LE": ReverseRequest{Transaction: "t-1", Annotation: noted},
		"1:Qcl0fP1gNrbC6Y5bLDisFNLV84Jz8Ews2dlEIAc2bls": reverse(Part{Quantity: &four, Cost: new(n(200))}),
		"1:R4oaUjiaGxob19sApfcKRXTHDqQvmbCAJW4L_nVC2v8": PostTransfer{effective("t-1"), "jane", "shop", "USD", n(2500), nil},
		"1:u3Lv0Sqm2lYF3GzLzCTMQ9JtPo9xoIl8eXpGTJ5o8Zw": ReverseRequest{Annotation: effective("r-1"), Transaction: "t-1"},
		"1:CxEft_PzS_e_R0Se6sM2ajk-tEjeksyvihiwJvnqyAs": reverse(Part{Postings: []LegPart{{Quantity: n(-4)}, {Quantity: n(4)}}}),
		"2:SzKHyChPQX1XDmaaOtK3lx5bkPvnpoyAvUEWWyHZlfU:uPDodxFy2rfKrxadjpli7dksc5656I1ks8TQrw6_s9w": PostSplit{
			From: "ann", Asset: "EUR", Quantity: n(10000), To: []Portion{
				{Account: "fees", Share: share("2.90%"), Quantity: new(n(30))}, {Account: "tax", Share: share("38/238")}, {Account: "shop", Rest: 1},
			},
		},
		"2:a2aqMu9fOMgxYqDrpSegIJjgGEL4L-HjX2VPHA83CCQ:X7Qu9lWHhcbGlpoC2de3FWqTCyhLrfwX8xzZbTkoh-M": PostSplit{
			Annotation: Annotation{Hold: &HoldRequest{ExpiresAt: &at}, Annotation: said("Dinner ☃", map[string]string{"order": "1001", "a": "x"})},
			From:       "ann", Asset: "EUR", Quantity: n(1), To: []Portion{{Account: "fees", Share: share("29/1000")}, {Account: "shop", Rest: 2}},
		},
	} {
		d := r.expand()
		if got := fingerprint(d); got != want {
			t.Errorf("%#v: %s, want %s", r, got, want)
		}
		if len(want) > events.FingerprintChars {
			t.Errorf("%s is too long to be stored", want)
		}
		if d.isReversal() { // its legs follow from what it reverses
			if d.legs = []LegRequest{{Account: "jane"}}; fingerprint(d) != want {
				t.Errorf("%#v with legs: %s, want %s", r, fingerprint(d), want)
			}
		}
	}
}

func TestSameRequest(t *testing.T) {
	r := PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: events.NewAmount(1)}
	if same, err := sameRequest(fingerprint(r.expand()), r.expand()); !same || err != nil {
		t.Errorf("its own fingerprint: %v, %v", same, err)
	}
	r.Quantity = events.NewAmount(2)
	stored := fingerprint(r.expand())
	r.Quantity = events.NewAmount(1)
	if same, err := sameRequest(stored, r.expand()); same || err != nil {
		t.Errorf("another's fingerprint: %v, %v", same, err)
	}
	// By a rule that this code doesn't know nothing can be said: it must not look like another body.
	for _, stored := range []string{"3" + strings.TrimPrefix(stored, "1"), "", ":", "11:x"} {
		if same, err := sameRequest(stored, r.expand()); same || err == nil {
			t.Errorf("fingerprint %q: %v, %v", stored, same, err)
		}
	}
}

// A split is compared by what it says, and not by its legs: the same legs may have been asked for in other words.
func TestSameSplit(t *testing.T) {
	ten, five := events.NewAmount(10), events.NewAmount(5)
	half, _ := ParseShare("50%")
	split := func(to ...Portion) PostSplit { return PostSplit{From: "a", Asset: "USD", Quantity: ten, To: to} }
	asked := split(Portion{Account: "b", Share: half}, Portion{Account: "c", Rest: 1})
	stored := fingerprint(asked.expand())
	request, _, _ := strings.Cut(strings.TrimPrefix(stored, "2:"), ":")
	for what, test := range map[string]struct {
		r    Request
		same bool
	}{
		"itself":            {asked, true},
		"nothing in excess": {split(Portion{Account: "b", Share: half, Quantity: new(events.NewAmount(0))}, Portion{Account: "c", Rest: 1}), true},
		"another weight":    {split(Portion{Account: "b", Share: half}, Portion{Account: "c", Rest: 2}), false},
		"another order":     {split(Portion{Account: "c", Rest: 1}, Portion{Account: "b", Share: half}), false},
		"by quantity":       {split(Portion{Account: "b", Quantity: &five}, Portion{Account: "c", Rest: 1}), false},
		"the same legs":     {PostTransaction{Postings: asked.expand().legs}, false},
	} {
		for _, stored := range []string{stored, "2:" + request + ":legs-by-an-older-rule"} {
			if same, err := sameRequest(stored, test.r.expand()); same != test.same || err != nil {
				t.Errorf("%s: %v, %v", what, same, err)
			}
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	text := strings.Repeat("x", 1000)
	opened := events.AccountOpened{ID: text, Name: text, Profile: text, Actor: text}
	account := NewAccount(opened, &events.AccountChanged{Number: 2, Name: text, Profile: text, Actor: text})
	asset, group := events.AssetRegistered{ID: text, Name: text, Description: text, Actor: text}, events.GroupRegistered{ID: text, Name: text, Description: text, Actor: text}
	if a, b, c := accountBytes(account), definitionBytes(asset), definitionBytes(group); a < 7000 || b < 4000 || c < 4000 {
		t.Errorf("weights %d, %d and %d do not count all texts", a, b, c)
	}

	m := newCache[string](100, func(v string) int { return len(v) }, itself)
	for i := range 1000 {
		k := fmt.Sprint(i)
		m.put(k, "0123456789")
		if v, ok := m.get(k); !ok || v != "0123456789" {
			t.Fatalf("%s was evicted at once", k)
		}
		if len(m.values) > 10 || m.weights > 100 {
			t.Fatalf("%d values of weight %d are kept", len(m.values), m.weights)
		}
	}
	m.put("large", string(make([]byte, 150))) // beyond the bound alone: kept until the next
	m.put("small", "x")
	if len(m.values) > 2 || m.weights > 151 {
		t.Errorf("%d values of weight %d are kept", len(m.values), m.weights)
	}
	m.put("small", "y")
	if v, _ := m.get("small"); v != "x" {
		t.Errorf("a definition was replaced by %q", v)
	}
}

// The assets whose limit was once higher are bounded.
func TestHighestLimitsAreBounded(t *testing.T) {
	highest := map[string]events.Amount{}
	for n := range events.HighestLimits + 1 {
		highest[fmt.Sprint("asset-", n)] = events.NewAmount(1)
		refused := (&accountChange{}).checkRules(Account{}, events.AccountChanged{Highest: highest})
		if (refused != nil) != (n == events.HighestLimits) {
			t.Errorf("%d assets: %v", n+1, refused)
		}
	}
}
