package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// used fails the test unless the rates of jane after a position are these: what is used of each, and when it opens again.
func (r *rig) used(t *testing.T, after string, limit int, want string) {
	t.Helper()
	rates, more, err := r.Rates(t.Context(), "jane", after, limit)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, u := range rates {
		got += fmt.Sprintf("%s: %v used, %v left until %s; ", u.Position(), u.Used, u.Available, u.OpensAt.Format(time.RFC3339))
	}
	if got += fmt.Sprint("more: ", more); got != want {
		t.Errorf("rates: %s, want %s", got, want)
	}
}

// What is used is that of the present day, also if another process opened it whose clock is ahead. A limit that was
// lowered has nothing left.
func TestReadOfRates(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.used(t, "", 10, "more: false")
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		ends := r.nextDay()
		r.used(t, "", 10, "USD#day@Europe/Berlin: 0 used, 100 left until "+ends+"; more: false")
		r.mustPost(transfer("a", "jane", "shop", "60"))
		r.used(t, "", 10, "USD#day@Europe/Berlin: 60 used, 40 left until "+ends+"; more: false")
		r.setRates("jane", perDay("50"))
		r.used(t, "", 10, "USD#day@Europe/Berlin: 60 used, 0 left until "+ends+"; more: false")
		ends = r.nextDay()
		r.used(t, "", 10, "USD#day@Europe/Berlin: 0 used, 50 left until "+ends+"; more: false")
		if _, err := r.another().Post(t.Context(), transfer("b", "jane", "shop", "20")); err != nil {
			t.Fatal(err)
		}
		r.skew = -3 * time.Second // it is the day before, by this clock
		r.used(t, "", 10, "USD#day@Europe/Berlin: 20 used, 30 left until "+ends+"; more: false")
		if _, _, err := r.Rates(t.Context(), "nobody", "", 10); err == nil {
			t.Error("rates of an account that does not exist")
		} else {
			r.refused(err, ledger.CodeAccountNotFound)
		}
	})
}

// Pages go on after a rate, also after it was removed.
func TestPagesOfRates(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		week := events.Rate{Asset: "USD", Per: events.PerWeek, Zone: "UTC", Quantity: amount("7")}
		month := events.Rate{Asset: "USD", Per: events.PerMonth, Zone: "UTC", Quantity: amount("9")}
		r.setRates("jane", week, perDay("5"), month)
		positions := ""
		for after, more := "", true; more; {
			var page []ledger.UsedRate
			var err error
			if page, more, err = r.Rates(t.Context(), "jane", after, 1); err != nil || len(page) != 1 {
				t.Fatal(page, err)
			}
			after = page[0].Position()
			positions += after + " "
		}
		if want := "USD#day@Europe/Berlin USD#month@UTC USD#week@UTC "; positions != want {
			t.Errorf("pages: %s, want %s", positions, want)
		}
		r.setRates("jane", week, perDay("5"))
		if page, more, err := r.Rates(t.Context(), "jane", "USD#month@UTC", 5); err != nil || more || len(page) != 1 || page[0].Per != "week" {
			t.Errorf("after one that was removed: %v, %t, %v", page, more, err)
		}
		r.used(t, "USD#week@UTC", 5, "more: false")
	})
}
