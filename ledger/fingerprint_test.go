package ledger

import (
	"strings"
	"testing"
	"time"

	"ledger.example/events"
)

// Stored headers have these fingerprints. From the first release on, add vectors, and never edit them. They were computed
// by independent code from the rule's description.
func TestFingerprintVectors(t *testing.T) {
	n := events.NewAmount
	for want, r := range map[string]Request{
		"1:h7wZZQhTzsZhX0uJexVJ-n-YGUUjqU56pGcezN7HpwA": PostTransfer{From: "jane", To: "shop", Asset: "USD", Quantity: n(2500)},
		"1:SIFfBA87NpPS7Gf0aLDj1XhH-Ob8QQCGK0QkBDCcOdA": PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: n(10), Cost: n(150000), Settle: true},
		"1:vI3CYoqP65bZDMFfDksgfFXy7ueSzX7xxYgBCxSy8jE": PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: n(10)},
		"1:ySk4JDzezcvYNXao7ufLy09oiD7ThI-R2UDjA5QwpC8": PostTransaction{
			Annotation: Annotation{ID: "order-1001", Description: "Card order ☃", Metadata: map[string]string{"order": "1001", "b": "", "a": "x"}, Actor: "local"},
			Postings: []LegRequest{
				{Account: "jane", Asset: "USD", Quantity: n(-2500)}, {Account: "shop", Asset: "USD", Quantity: n(2400), Cost: n(7)},
				{Account: "fees", Asset: "USD", Quantity: n(100), Cost: n(-7)},
			},
		},
		"1:lMxByM3NFJxYbrOvbnBGk2VoOsxrrkT0bOPe3jkbLjg": PostTransaction{},
	} {
		if got := fingerprint(r.expand()); got != want {
			t.Errorf("%#v: %s, want %s", r, got, want)
		}
		if len(want) > events.FingerprintChars {
			t.Errorf("%s is too long to be stored", want)
		}
	}
}

func TestFingerprintVectorsOfHoldsAndReversals(t *testing.T) {
	n := events.NewAmount
	at, err := time.Parse(time.RFC3339, "2026-11-28T10:06:39.1234567+01:00")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(at *time.Time) Annotation {
		return Annotation{ID: "h-1", Actor: "local", Hold: &HoldRequest{ExpiresAt: at}}
	}
	reverse := func(p Part) draft {
		return ReverseRequest{Annotation: Annotation{ID: "r-1"}, Transaction: "t-1", Part: p}.expand()
	}
	all := ReverseRequest{Transaction: "t-1",
		Annotation: Annotation{Description: "returned ☃", Metadata: map[string]string{"order": "1001", "a": "x"}, Actor: "local"}}
	four := n(4)
	effective := func(id string) Annotation { return Annotation{ID: id, EffectiveAt: &at} }
	for want, d := range map[string]draft{
		"1:GZSt2radRFroC-AFQanh15j3iMNwb_KSzkPLByKZMlM": PostTransfer{hold(nil), "jane", "shop", "USD", n(2500)}.expand(),
		"1:xuqJLqv6cWIFEyxeaDbabDPF1nL8H7bXxUKbcb9mjGs": PostTransfer{hold(&at), "jane", "shop", "USD", n(2500)}.expand(),
		"1:1aG7bUj0UJoehmUN4c5sCRymLhQHaDwybtvVBVbFCX4": PostTrade{hold(nil), "AAPL", "jane", "market", n(10), n(150000), true}.expand(),
		"1:KS_p53iacO0WD1Odgd2AmPW_ftaJqwmoNlvCgrWY_LE": all.expand(),
		"1:Qcl0fP1gNrbC6Y5bLDisFNLV84Jz8Ews2dlEIAc2bls": reverse(Part{Quantity: &four, Cost: n(200)}),
		"1:R4oaUjiaGxob19sApfcKRXTHDqQvmbCAJW4L_nVC2v8": PostTransfer{effective("t-1"), "jane", "shop", "USD", n(2500)}.expand(),
		"1:u3Lv0Sqm2lYF3GzLzCTMQ9JtPo9xoIl8eXpGTJ5o8Zw": ReverseRequest{Annotation: effective("r-1"), Transaction: "t-1"}.expand(),
		"1:CxEft_PzS_e_R0Se6sM2ajk-tEjeksyvihiwJvnqyAs": reverse(Part{Postings: []events.Taken{{Quantity: n(-4)}, {Quantity: n(4)}}}),
	} {
		if got := fingerprint(d); got != want {
			t.Errorf("%+v: %s, want %s", d, got, want)
		}
		if d.kind != events.KindReversal {
			continue
		}
		d.legs = []LegRequest{{Account: "jane"}} // they follow from what it reverses
		if got := fingerprint(d); got != want {
			t.Errorf("%+v with legs: %s, want %s", d, got, want)
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
	for _, stored := range []string{"2" + strings.TrimPrefix(stored, "1"), "", ":", "11:x"} {
		if same, err := sameRequest(stored, r.expand()); same || err == nil {
			t.Errorf("fingerprint %q: %v, %v", stored, same, err)
		}
	}
}
