package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ledger.example/ledger"
)

// A fit takes no more than its rates leave. What it takes is counted, not only its least quantity.
func TestFitWithinARate(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, ends string) {
		if posted := r.mustPost(sweep("a", "jane", "bank", "30", "", "")); moved(posted) != "30" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		if _, err := r.another().Post(t.Context(), transfer("b", "jane", "shop", "10")); err != nil {
			t.Fatal(err)
		}
		dry := sweep("c", "jane", "bank", "", "", "60")
		dry.DryRun = true
		if posted := r.mustPost(dry); moved(posted) != "60" {
			t.Errorf("a dry run: %+v", posted.Header.Legs)
		}
		if posted := r.mustPost(sweep("c", "jane", "bank", "", "", "60")); moved(posted) != "60" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		if counted, _ := r.counted("jane"); counted != "100" {
			t.Errorf("counted %s", counted)
		}
		dry = sweep("d", "jane", "bank", "50", "", "")
		dry.DryRun = true
		r.exceeds(dry, "100", "0", "1", ends)
		r.exceeds(sweep("d", "jane", "bank", "50", "", ""), "100", "0", "1", ends)
		r.exceeds(sweep("e", "jane", "bank", "500", "", "200"), "100", "0", "200", "") // it never fits
		r.nextDay()
		if posted := r.mustPost(sweep("f", "jane", "bank", "500", "", "")); moved(posted) != "100" {
			t.Errorf("%+v", posted.Header.Legs)
		}
	})
}

// What the guard refuses between the decision and the write is decided again, down to the least quantity.
func TestFitIsDecidedAgainByRates(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, ends string) {
		r.mustPost(transfer("a", "jane", "shop", "10"))
		other := r.another()
		meanwhile := func(id, quantity string) appended {
			return func(ctx context.Context, c commit) error {
				if _, err := other.Post(t.Context(), transfer(id, "jane", "shop", quantity)); err != nil {
					t.Error(err)
				}
				return c.apply(ctx)
			}
		}
		r.journal.steps = []appended{meanwhile("b", "20"), meanwhile("c", "30")}
		if posted := r.mustPost(sweep("d", "jane", "bank", "90", "", "40")); moved(posted) != "40" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		r.exceeds(sweep("e", "jane", "bank", "90", "", ""), "100", "0", "1", ends)
	})
}

// A day begins between the decision and the KSUIDs: what fits is decided by the new day.
func TestFitAtMidnight(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(transfer("a", "jane", "shop", "70"))
		r.beforeMidnight()
		r.journal.fail = func(request string) error {
			if request == "Funds" {
				time.Sleep(150 * time.Millisecond)
			}
			return nil
		}
		if posted := r.mustPost(sweep("b", "jane", "bank", "90", "", "")); moved(posted) != "90" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		if counted, _ := r.counted("jane"); counted != "90" {
			t.Errorf("counted %s", counted)
		}
	})
	inDay(t, func(t *testing.T, r *rig, _ string) { // the clock of this process is behind that of the guard's day
		if _, err := r.another().Post(t.Context(), transfer("a", "jane", "shop", "60")); err != nil {
			t.Fatal(err)
		}
		r.skew = -3 * time.Second
		if posted := r.mustPost(sweep("b", "jane", "bank", "90", "", "")); moved(posted) != "40" {
			t.Errorf("%+v", posted.Header.Legs)
		}
	})
}

// In a batch, a fit may take what the end of a hold before it gives back to the rate.
func TestFitAfterTheEndOfAHold(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(held("h", "jane", "shop", "70", time.Hour))
		r.mustPost(transfer("a", "jane", "shop", "20"))
		results, err := r.PostBatch(t.Context(), []ledger.Request{
			release("h"), sweep("b", "jane", "bank", "", "", ""),
		}, true)
		if err != nil || moved(results[1].Posted) != "80" {
			t.Fatalf("%v, %+v", err, results)
		}
		if counted, back := r.counted("jane"); counted != "170" || back != "70" {
			t.Errorf("counted %s, given back %s", counted, back)
		}
	})
}

// A source gives no more than its rates leave, and the next one gives the rest. Only if the rates of all together leave
// too little is that the reason of a refusal.
func TestSourcesWithinRates(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, ends string) {
		r.fund("bob", "USD", "1000")
		is := func(want string, posted ledger.Posted) {
			t.Helper()
			if got := legsOf(posted); got != want {
				t.Errorf("%s, not %s", got, want)
			}
		}
		r.mustPost(transfer("a", "jane", "shop", "10"))
		is("jane -90, bob -60, shop 150", r.mustPost(pays("b", "jane bob", "shop=rest", "150", "")))
		is("bob -5, shop 5", r.mustPost(pays("c", "jane bob", "shop=rest", "5", "")))
		r.setRates("bob", perDay("80"))
		if _, err := r.another().Post(t.Context(), transfer("d", "bob", "shop", "30")); err != nil {
			t.Fatal(err)
		}
		is("bob -50, shop 50", r.mustPost(pays("e", "jane bob", "shop=rest", "70", "")))
		_, err := r.post(pays("f", "jane bob", "shop=rest", "70", "20"))
		e := r.refused(err, ledger.CodeRateExceeded)
		if e.Account != "bob" || e.Rate.Available != amount("0") || e.Rate.Requested != amount("20") ||
			e.Rate.OpensAt.Format(time.RFC3339) != ends {
			t.Errorf("%+v, %+v", e, e.Rate)
		}
		r.stored("f", false)
		for _, account := range []string{"jane", "bob"} {
			if counted, _ := r.counted(account); counted != map[string]string{"jane": "100", "bob": "80"}[account] {
				t.Errorf("%s counted %s", account, counted)
			}
		}
		r.nextDay()
		r.setRates("bob")
		if _, err := r.another().Post(t.Context(), transfer("g", "bob", "bank", "850")); err != nil { // 5 are left
			t.Fatal(err)
		}
		_, err = r.post(pays("h", "jane bob", "shop=rest", "", "106")) // neither rates nor funds alone refuse it
		e = r.refused(err, ledger.CodeInsufficientFunds)
		if e.Funds.Available != amount("105") || !strings.Contains(e.Detail, "within their limits over time") {
			t.Errorf("%+v, %+v", e, e.Funds)
		}
		is("jane -100, bob -5, shop 105", r.mustPost(pays("i", "jane bob", "shop=rest", "", "105")))
	})
}
