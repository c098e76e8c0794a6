package ledger_test

import (
	"context"
	"testing"
	"time"

	"ledger.example/ledger"
)

// sweep is a transfer of as much USD as fits. keep, upTo and atLeast are "" for none.
func sweep(id, from, to, upTo, keep, atLeast string) ledger.PostTransfer {
	r := transfer(id, from, to, "0")
	r.Fit = &ledger.Fit{}
	if upTo != "" {
		r.Fit.UpTo = new(amount(upTo))
	}
	if keep != "" {
		r.Fit.Keep = amount(keep)
	}
	if atLeast != "" {
		r.Fit.AtLeast = new(amount(atLeast))
	}
	return r
}

// moved returns the quantity of a transfer.
func moved(p ledger.Posted) string { return p.Header.Legs[1].Quantity.String() }

func TestFit(t *testing.T) {
	for name, c := range map[string]struct {
		from, funds, upTo, keep, atLeast string
		want                             string // "" if it is refused
		available                        string
	}{
		"all":                            {"jane", "100", "", "", "", "100", ""},
		"all but what stays":             {"jane", "100", "", "20", "", "80", ""},
		"at most":                        {"jane", "100", "70", "", "", "70", ""},
		"at most more than there is":     {"jane", "100", "170", "", "", "100", ""},
		"no less than that":              {"jane", "100", "170", "", "100", "100", ""},
		"too little":                     {"jane", "100", "170", "", "101", "", "100"},
		"too little above what stays":    {"jane", "100", "", "99", "2", "", "1"},
		"nothing":                        {"jane", "0", "", "", "", "", "0"},
		"all stays":                      {"jane", "100", "", "200", "", "", "-100"},
		"not into the overdraft":         {"margin", "100", "", "", "", "100", ""},
		"some of the overdraft":          {"margin", "100", "", "-200", "", "300", ""},
		"the whole overdraft":            {"margin", "100", "", "-900", "", "600", ""},
		"no overdraft that is not there": {"jane", "100", "", "-900", "", "100", ""},
		"unlimited":                      {"market", "0", "70", "", "", "70", ""},
	} {
		for _, warm := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					if c.funds != "0" {
						r.fund(c.from, "USD", c.funds)
					}
					if warm {
						_, _ = r.post(transfer("", c.from, "bob", "1"))
						_, _ = r.post(transfer("", "bob", c.from, "1"))
					}
					request := sweep("t-1", c.from, "bank", c.upTo, c.keep, c.atLeast)
					dry := request
					dry.DryRun = true
					planned, dryErr := r.post(dry)
					posted, err := r.post(request)
					if c.want == "" {
						e := r.refused(err, ledger.CodeInsufficientFunds)
						if e.Funds.Available.String() != c.available || e.Funds.Requested != request.Fit.Least() {
							t.Errorf("%+v", e.Funds)
						}
						r.refused(dryErr, ledger.CodeInsufficientFunds)
						r.stored("t-1", false)
						return
					}
					if err != nil || moved(posted) != c.want || posted.Replayed {
						t.Fatalf("%v, %+v; want %s", err, posted.Header.Legs, c.want)
					}
					if dryErr != nil || moved(planned) != c.want {
						t.Errorf("a dry run: %v, %+v", dryErr, planned.Header.Legs)
					}
					r.mustPost(transfer("", "bank", c.from, "1000"))
					if again := r.mustPost(request); !again.Replayed || moved(again) != c.want {
						t.Errorf("again: %+v", again)
					}
					for _, other := range []ledger.PostTransfer{
						transfer("t-1", c.from, "bank", c.want), sweep("t-1", c.from, "bank", "999", c.keep, c.atLeast),
						sweep("t-1", c.from, "bank", c.upTo, "7", c.atLeast), sweep("t-1", c.from, "shop", c.upTo, c.keep, c.atLeast),
					} {
						if _, err := r.post(other); c.from != "market" || other.Fit == nil || other.Fit.Keep.IsZero() {
							r.refused(err, ledger.CodeTransactionIDReused)
						}
					}
				})
			})
		}
	}
}

// What others debit while an attempt is on its way is not taken again, and what they credit is: each attempt decides
// anew.
func TestFitIsDecidedInEachAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		other := r.another()
		meanwhile := func(request ledger.PostTransfer) appended {
			return func(ctx context.Context, c commit) error {
				if _, err := other.Post(t.Context(), withActor(request)); err != nil {
					t.Error(err)
				}
				return c.apply(ctx)
			}
		}
		r.journal.steps = []appended{
			meanwhile(transfer("d-1", "jane", "bob", "30")), meanwhile(transfer("d-2", "jane", "bob", "30")),
			meanwhile(transfer("c-1", "bank", "jane", "5")),
		}
		if posted := r.mustPost(sweep("t-1", "jane", "bank", "", "", "")); moved(posted) != "40" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		r.journal.steps = []appended{meanwhile(transfer("d-3", "jane", "bob", "5"))}
		_, err := r.post(sweep("t-2", "jane", "bank", "", "", ""))
		if e := r.refused(err, ledger.CodeInsufficientFunds); !e.Funds.Available.IsZero() {
			t.Errorf("%+v", e.Funds)
		}
	})
}

// An attempt that is applied late counts, whatever the command decided for the attempts after it.
func TestFitOfALateAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			err := late(50*time.Millisecond)(ctx, c)
			if _, failed := r.another().Post(t.Context(), withActor(transfer("c-1", "bank", "jane", "5"))); failed != nil {
				t.Error(failed)
			}
			return err
		}}
		posted := r.mustPost(sweep("t-1", "jane", "bank", "", "", ""))
		if header := r.stored("t-1", true); moved(posted) != header.Legs[1].Quantity.String() {
			t.Errorf("%s was answered, %+v is stored", moved(posted), header.Legs)
		}
	})
}

// With known funds that suffice, a fit takes what any transfer takes: one request.
func TestFitOfKnownFunds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("", "jane", "bob", "1"))
		r.journal.forget()
		r.mustPost(sweep("t-1", "jane", "bank", "70", "", ""))
		if calls := r.journal.calls; len(calls) != 1 {
			t.Errorf("%v", calls)
		}
	})
}

func TestFitsInBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		batch := func(atomic bool, all ...ledger.Request) ([]ledger.BatchResult, error) {
			for i := range all {
				all[i] = withActor(all[i].(ledger.PostTransfer))
			}
			return r.PostBatch(t.Context(), all, atomic)
		}
		results, err := batch(true, transfer("a-1", "bank", "jane", "60"), sweep("a-2", "jane", "bob", "", "10", ""),
			transfer("a-3", "bob", "bank", "50"))
		if err != nil || moved(results[1].Posted) != "50" {
			t.Fatalf("%v, %+v", err, results)
		}
		dry := []ledger.Request{transfer("d-1", "bank", "jane", "60"), sweep("d-2", "jane", "bob", "", "10", ""), transfer("d-3", "bob", "bank", "60")}
		for i := range dry {
			one := dry[i].(ledger.PostTransfer)
			one.DryRun = true
			dry[i] = one
		}
		if results, err := r.PostBatch(t.Context(), dry, true); err != nil || moved(results[1].Posted) != "60" {
			t.Errorf("a dry run: %v, %+v", err, results)
		}
		_, err = batch(true, transfer("b-1", "jane", "bank", "5"), sweep("b-2", "jane", "bob", "", "", ""))
		if e := r.refused(err, ledger.CodeInvalidTransaction); e.Request != 2 || e.Fields[0].Field.Name != "up_to" {
			t.Errorf("%+v", e)
		}
		results, err = batch(false, transfer("c-1", "jane", "bank", "3"), sweep("c-2", "jane", "bob", "", "", ""),
			transfer("c-3", "jane", "bank", "1"))
		if err != nil || results[0].Err != nil || moved(results[1].Posted) != "7" {
			t.Fatalf("%v, %+v", err, results)
		}
		if results[2].Err == nil || results[2].Err.Code != ledger.CodeInsufficientFunds {
			t.Errorf("%+v", results[2])
		}
	})
}

// A hold of as much as fits reserves what there is.
func TestFitOfAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		request := sweep("h-1", "jane", "bank", "", "30", "")
		request.Hold = &ledger.HoldRequest{}
		if posted := r.mustPost(request); moved(posted) != "70" {
			t.Errorf("%+v", posted.Header.Legs)
		}
		if posted := r.mustPost(sweep("t-1", "jane", "bank", "", "", "")); moved(posted) != "30" {
			t.Errorf("%+v", posted.Header.Legs)
		}
	})
}

func TestFitsThatAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		past := storeNow().Add(-time.Hour)
		backdated := sweep("t-1", "jane", "bank", "5", "", "")
		backdated.EffectiveAt = &past
		for name, c := range map[string]struct {
			request ledger.PostTransfer
			code    ledger.Code
			field   string
		}{
			"zero":                {sweep("t-1", "jane", "bank", "0", "", ""), ledger.CodeInvalidRequest, "up_to"},
			"nothing at least":    {sweep("t-1", "jane", "bank", "5", "", "0"), ledger.CodeInvalidRequest, "at_least"},
			"least above most":    {sweep("t-1", "jane", "bank", "5", "", "6"), ledger.CodeInvalidTransaction, "at_least"},
			"too long":            {sweep("t-1", "jane", "bank", "", "12345678901234567890123456789", ""), ledger.CodeInvalidRequest, "keep"},
			"backdated":           {backdated, ledger.CodeInvalidRequest, "effective_at"},
			"all of an unlimited": {sweep("t-1", "market", "bank", "", "", ""), ledger.CodeInvalidTransaction, "up_to"},
			"kept by unlimited":   {sweep("t-1", "market", "bank", "5", "1", ""), ledger.CodeInvalidTransaction, "keep"},
			"to itself":           {sweep("t-1", "jane", "jane", "5", "", ""), ledger.CodeInvalidTransaction, "from"},
		} {
			_, err := r.post(c.request)
			if e := r.refused(err, c.code); len(e.Fields) == 0 || e.Fields[0].Field.Name != c.field {
				t.Errorf("%s: %+v", name, e)
			}
		}
		r.stored("t-1", false)
	})
}

func withActor(r ledger.PostTransfer) ledger.PostTransfer {
	r.Actor = "tester"
	return r
}
