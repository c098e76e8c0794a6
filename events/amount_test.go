package events_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

var canonical = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

func nines(n int) string { return strings.Repeat("9", n) }

// ParseAmount accepts exactly the texts that the grammar and the number of digits allow. String returns the same text.
func FuzzParseAmount(f *testing.F) {
	for _, s := range []string{"-10", nines(19), nines(28), "10000000000000000000", "0x1", "1_000", "--1", "1\x00", "00" + nines(40)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, digits := range []int{events.PostedDigits, events.FoldedDigits} {
			a, err := events.ParseAmount(s, digits)
			var want error
			switch {
			case !canonical.MatchString(s):
				want = events.ErrAmount
			case len(strings.TrimPrefix(s, "-")) > digits:
				want = events.ErrOverflow
			}
			if err != want {
				t.Fatalf("ParseAmount(%q, %d): %v, want %v", s, digits, err, want)
			}
			if err == nil && a.String() != s || err != nil && !a.IsZero() {
				t.Fatalf("ParseAmount(%q, %d) prints as %s", s, digits, a)
			}
		}
	})
}

// Every operation agrees with math/big.
func TestAmountIsTheWholeNumbers(t *testing.T) {
	most := eventstest.AmountOf(new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil), big.NewInt(1)))
	if events.MaxFolded() != most {
		t.Fatalf("MaxFolded() = %v", events.MaxFolded())
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := eventstest.Whole(events.FoldedDigits).Draw(t, "x"), eventstest.Whole(events.FoldedDigits).Draw(t, "y")
		a, b := eventstest.AmountOf(x), eventstest.AmountOf(y)
		same := func(what string, got events.Amount, err error, want *big.Int) {
			t.Helper()
			overflows := len(new(big.Int).Abs(want).String()) > events.FoldedDigits
			if overflows != (err == events.ErrOverflow) || !overflows && (err != nil || got.String() != want.String()) {
				t.Fatalf("%s = %v, %v; want %v", what, got, err, want)
			}
		}
		sum, err := a.Add(b)
		same("x + y", sum, err, new(big.Int).Add(x, y))
		difference, err := a.Sub(b)
		same("x − y", difference, err, new(big.Int).Sub(x, y))
		same("−x", a.Neg(), nil, new(big.Int).Neg(x))
		same("|x|", a.Abs(), nil, new(big.Int).Abs(x))
		if a.Cmp(b) != x.Cmp(y) || (a == b) != (x.Cmp(y) == 0) || a.Sign() != x.Sign() || a.IsZero() != (x.Sign() == 0) {
			t.Fatalf("x %v, y %v: Cmp %d, == %t, Sign %d, IsZero %t", x, y, a.Cmp(b), a == b, a.Sign(), a.IsZero())
		}
		n := rapid.Int64().Draw(t, "n")
		same("NewAmount", events.NewAmount(n), nil, big.NewInt(n))
	})
}

func TestAmountText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := eventstest.Amount(events.FoldedDigits).Draw(t, "a")
		type carrier struct{ A events.Amount }
		text, err := json.Marshal(carrier{a})
		if want := `{"A":"` + a.String() + `"}`; err != nil || string(text) != want {
			t.Fatalf("marshalled %s, %v; want %s", text, err, want)
		}
		var back carrier
		if err := json.Unmarshal(text, &back); err != nil || back.A != a {
			t.Fatalf("%s came back as %v, %v", text, back.A, err)
		}
		if b, err := a.AppendText([]byte("x=")); err != nil || string(b) != "x="+a.String() {
			t.Fatalf("AppendText: %s, %v", b, err)
		}
	})
	kept := events.NewAmount(7)
	if err := kept.UnmarshalText([]byte("1e3")); err != events.ErrAmount || kept != events.NewAmount(7) {
		t.Errorf("a refused text left %v, %v", kept, err)
	}
	if err := json.Unmarshal([]byte(`1`), &kept); err == nil {
		t.Error("a JSON number was taken for an amount")
	}
	if err := kept.UnmarshalText([]byte(nines(39))); !errors.Is(err, events.ErrOverflow) {
		t.Errorf("39 digits: %v", err)
	}
}

func TestAmountAllocatesNothing(t *testing.T) {
	a, b := events.MaxFolded().Neg(), events.NewAmount(123)
	text := a.String()
	buffer := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		sum, _ := a.Add(b)
		difference, _ := sum.Sub(b)
		parsed, _ := events.ParseAmount(text, events.FoldedDigits)
		buffer, _ = parsed.AppendText(buffer[:0])
		if difference.Cmp(a.Neg().Abs().Neg()) != 0 {
			t.Error("a + b − b is not a")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
