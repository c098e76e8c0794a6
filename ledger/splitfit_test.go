package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// pays is a split of as much USD as fits, from sources such as "jane" or "margin>-100", which keep nothing or so much,
// among portions such as "fees=2.9%+30" and "shop=rest". upTo and atLeast are "" for none.
func pays(id, from, to, upTo, atLeast string) ledger.PostSplit {
	r := ledger.PostSplit{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, Asset: "USD", Fit: sweep("", "", "", upTo, "", atLeast).Fit}
	for text := range strings.FieldsSeq(from) {
		s := ledger.Source{}
		account, keep, has := strings.Cut(text, ">")
		if s.Account = account; has {
			s.Keep = amount(keep)
		}
		r.Sources = append(r.Sources, s)
	}
	for text := range strings.FieldsSeq(to) {
		account, part, _ := strings.Cut(text, "=")
		share, fixed, hasFixed := strings.Cut(part, "+")
		p := ledger.Portion{Account: account}
		switch {
		case part == "rest":
			p.Rest = 1
		case hasFixed:
			p.Quantity = new(amount(fixed))
			fallthrough
		default:
			p.Share, _ = ledger.ParseShare(share)
		}
		r.To = append(r.To, p)
	}
	return r
}

// legsOf returns the legs of a transaction as "jane -30, shop 30".
func legsOf(p ledger.Posted) string {
	var all []string
	for _, leg := range p.Header.Legs {
		all = append(all, leg.Account+" "+leg.Quantity.String())
	}
	return strings.Join(all, ", ")
}

func TestSplitsThatFit(t *testing.T) {
	for name, c := range map[string]struct {
		jane, bob, margin        string
		from, to, upTo, atLeast  string
		want                     string // "" if it is refused
		available, account, tell string
	}{
		"the first has enough":        {"100", "50", "0", "jane bob", "shop=rest", "70", "", "jane -70, shop 70", "", "", ""},
		"exactly enough":              {"70", "50", "0", "jane bob", "shop=rest", "70", "", "jane -70, shop 70", "", "", ""},
		"then the second":             {"30", "50", "0", "jane bob", "shop=rest", "70", "", "jane -30, bob -40, shop 70", "", "", ""},
		"the first has nothing":       {"0", "50", "0", "jane bob", "shop=rest", "40", "", "bob -40, shop 40", "", "", ""},
		"less than the most":          {"30", "50", "0", "jane bob", "shop=rest", "100", "", "jane -30, bob -50, shop 80", "", "", ""},
		"all of three":                {"30", "50", "20", "jane margin bob", "shop=rest", "", "", "jane -30, margin -20, bob -50, shop 100", "", "", ""},
		"exactly by two":              {"30", "50", "0", "jane bob", "shop=rest", "80", "80", "jane -30, bob -50, shop 80", "", "", ""},
		"not even by two":             {"30", "50", "0", "jane bob", "shop=rest", "81", "81", "", "80", "bob", "together do not have enough"},
		"each keeps something":        {"30", "50", "20", "jane>10 bob>45 margin>-100", "shop=rest", "", "", "jane -20, bob -5, margin -120, shop 145", "", "", ""},
		"one keeps more than it has":  {"30", "50", "0", "jane>90 bob", "shop=rest", "60", "", "bob -50, shop 50", "", "", ""},
		"kept":                        {"30", "50", "0", "jane>29 bob>50", "shop=rest", "60", "2", "", "1", "bob", "above what is kept"},
		"an unlimited one last":       {"30", "50", "0", "jane bank", "shop=rest", "100", "100", "jane -30, bank -70, shop 100", "", "", ""},
		"divided":                     {"100", "0", "0", "jane", "fees=2.9%+30 market=19/119 shop=rest", "", "", "jane -100, fees 33, market 16, shop 51", "", "", ""},
		"divided, of two":             {"60", "50", "0", "jane bob", "fees=2.9%+30 market=19/119 shop=rest", "100", "", "jane -60, bob -40, fees 33, market 16, shop 51", "", "", ""},
		"without a rest that is left": {"31", "0", "0", "jane", "fees=2.9%+30 shop=rest", "", "", "jane -31, fees 31", "", "", ""},
		"too little to be divided":    {"30", "0", "0", "jane", "fees=2.9%+30 shop=rest", "", "", "", "30", "jane", "need more"},
		"too little of two":           {"10", "20", "0", "jane bob", "fees=2.9%+30 shop=rest", "", "", "", "30", "bob", "need more"},
		"rounded up":                  {"3", "0", "0", "jane", "fees=50% market=50% shop=rest", "4", "", "", "3", "jane", "need more"},
		"no account by itself":        {"3", "0", "0", "jane", "fees=50% market=50% shop=rest", "2", "", "jane -2, fees 1, market 1", "", "", ""},
	} {
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprint(name, warm), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					for account, funds := range map[string]string{"jane": c.jane, "bob": c.bob, "margin": c.margin} {
						if funds != "0" {
							r.fund(account, "USD", funds)
							if warm {
								r.mustPost(transfer("", account, "market", "1"))
								r.mustPost(transfer("", "market", account, "1"))
							}
						}
					}
					request := pays("t-1", c.from, c.to, c.upTo, c.atLeast)
					dry := request
					dry.DryRun = true
					planned, dryErr := r.post(dry)
					if n := r.journal.count("Append") + r.journal.count("CreateGuard"); !warm && n > 0 {
						t.Errorf("a dry run writes: %v", r.journal.calls)
					}
					posted, err := r.post(request)
					if c.want == "" {
						for _, err := range []error{err, dryErr} {
							e := r.refused(err, ledger.CodeInsufficientFunds)
							if e.Funds.Available.String() != c.available || e.Funds.Available.Cmp(e.Funds.Requested) >= 0 ||
								e.Account != c.account || !strings.Contains(e.Detail, c.tell) {
								t.Errorf("%+v, %+v", e, e.Funds)
							}
						}
						r.stored("t-1", false)
						return
					}
					if err != nil || legsOf(posted) != c.want || posted.Replayed {
						t.Fatalf("%v, %s; want %s", err, legsOf(posted), c.want)
					}
					if dryErr != nil || legsOf(planned) != c.want {
						t.Errorf("a dry run: %v, %s", dryErr, legsOf(planned))
					}
					r.mustPost(transfer("", "bank", "jane", "1000"))
					if again := r.mustPost(request); !again.Replayed || legsOf(again) != c.want {
						t.Errorf("again: %s", legsOf(again))
					}
					for _, other := range []ledger.PostSplit{
						pays("t-1", c.from, c.to, "999", c.atLeast), pays("t-1", c.from+" fees2", c.to, c.upTo, c.atLeast),
						pays("t-1", c.from, c.to+" treasury=rest", c.upTo, c.atLeast),
					} {
						if _, err := r.post(other); err == nil {
							t.Errorf("%+v is a replay", other)
						}
					}
				})
			})
		}
	}
}

// A split of one source may be told as a list or as a name. They are the same request.
func TestSplitThatFitsOfAName(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		named := pays("t-1", "", "shop=rest", "", "")
		named.From, named.Sources, named.Fit.Keep = "jane", nil, amount("20")
		if posted := r.mustPost(named); legsOf(posted) != "jane -80, shop 80" {
			t.Errorf("%s", legsOf(posted))
		}
		if posted := r.mustPost(pays("t-1", "jane>20", "shop=rest", "", "")); !posted.Replayed {
			t.Errorf("%+v", posted)
		}
	})
}

// meanwhile lets another process carry out requests while an attempt is on its way.
func (r *rig) meanwhile(requests ...ledger.PostTransfer) appended {
	return func(ctx context.Context, c commit) error {
		for _, request := range requests {
			if _, err := r.another().Post(r.t.Context(), withActor(request)); err != nil {
				r.t.Error(err)
			}
		}
		return c.apply(ctx)
	}
}

// What others debit of a source while an attempt is on its way, the next source gives in the next attempt. Nothing is
// refused by one source's shortage.
func TestSplitThatFitsIsDecidedInEachAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "USD", "100")
		r.journal.steps = []appended{r.meanwhile(transfer("d-1", "jane", "market", "70"))}
		if posted := r.mustPost(pays("t-1", "jane bob", "fees=10% shop=rest", "90", "90")); legsOf(posted) != "jane -30, bob -60, fees 9, shop 81" {
			t.Errorf("%s", legsOf(posted))
		}
		// Only the second refuses: the first has what it had.
		r.mustPost(transfer("", "bank", "jane", "10"))
		r.journal.steps = []appended{r.meanwhile(transfer("d-2", "bob", "market", "25"))}
		if posted := r.mustPost(pays("t-2", "jane bob", "shop=rest", "40", "20")); legsOf(posted) != "jane -10, bob -15, shop 25" {
			t.Errorf("%s", legsOf(posted))
		}
		// It is refused by both together.
		r.mustPost(transfer("", "bank", "jane", "10"))
		r.mustPost(transfer("", "bank", "bob", "40"))
		r.journal.steps = []appended{r.meanwhile(transfer("d-3", "bob", "market", "25"))}
		_, err := r.post(pays("t-3", "jane bob", "shop=rest", "40", "40"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("25") || e.Funds.Requested != amount("40") {
			t.Errorf("%+v", e.Funds)
		}
		// What is divided is what fits now, not what fitted first.
		r.journal.steps = []appended{r.meanwhile(transfer("d-4", "bob", "market", "5"))}
		if posted := r.mustPost(pays("t-4", "jane bob", "fees=50% shop=rest", "", "")); legsOf(posted) != "jane -10, bob -10, fees 10, shop 10" {
			t.Errorf("%s", legsOf(posted))
		}
	})
}

// What another process brought to the second counts, though only the first refused.
func TestSplitThatFitsIsNotRefusedByOneSource(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "USD", "40")
		r.mustPost(pays("", "bob jane", "shop=rest", "10", "")) // 40 is what this process knows of bob
		r.journal.steps = []appended{r.meanwhile(transfer("c-1", "bank", "bob", "100"), transfer("d-1", "jane", "market", "90"))}
		if posted := r.mustPost(pays("t-1", "jane bob", "shop=rest", "110", "110")); legsOf(posted) != "jane -10, bob -100, shop 110" {
			t.Errorf("%s", legsOf(posted))
		}
	})
}

// A change that is acknowledged before the request binds it, also in a source that gives nothing: what it has is not
// computed by a version that this process remembers.
func TestSplitThatFitsAfterAChange(t *testing.T) {
	change := func(t *testing.T, r *rig, c ledger.ChangeAccount) {
		c.Actor = "tester"
		if _, err := r.another().ChangeAccount(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	overdraft := func(usd string) *events.Overdraft {
		return &events.Overdraft{Limits: map[string]events.Amount{"USD": amount(usd)}}
	}
	for name, c := range map[string]struct {
		change ledger.ChangeAccount
		from   string
		want   string
	}{
		"raised, and gives":              {ledger.ChangeAccount{ID: "jane", Overdraft: overdraft("50")}, "jane>-50 bob", "jane -50, bob -10, shop 60"},
		"lowered":                        {ledger.ChangeAccount{ID: "margin", Overdraft: overdraft("20")}, "margin>-500 bob", "margin -20, bob -40, shop 60"},
		"lowered to nothing":             {ledger.ChangeAccount{ID: "margin", Overdraft: overdraft("0")}, "margin>-500 bob", "bob -60, shop 60"},
		"frozen":                         {ledger.ChangeAccount{ID: "margin", State: new(events.StateFrozen)}, "margin>-500 bob", "bob -60, shop 60"},
		"closed":                         {ledger.ChangeAccount{ID: "margin", State: new(events.StateClosed)}, "margin>-500 bob", "bob -60, shop 60"},
		"frozen, and it is not asked of": {ledger.ChangeAccount{ID: "margin", State: new(events.StateFrozen)}, "bob margin", "bob -60, shop 60"},
	} {
		for _, guarded := range []bool{false, true} {
			t.Run(fmt.Sprint(name, guarded), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.fund("bob", "USD", "100")
					if guarded {
						r.journal.Guard(pair("jane", "USD"))
						r.journal.Guard(pair("margin", "USD"))
					}
					_, _ = r.post(transfer("", "jane", "market", "1")) // its process remembers the accounts
					_, _ = r.post(transfer("", "margin", "market", "501"))
					change(t, r, c.change)
					if posted := r.mustPost(pays("t-1", c.from, "shop=rest", "60", "")); legsOf(posted) != c.want {
						t.Errorf("%s, want %s", legsOf(posted), c.want)
					}
				})
			})
		}
	}
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("bob", "USD", "10")
		change(t, r, ledger.ChangeAccount{ID: "jane", State: new(events.StateFrozen)})
		_, err := r.post(pays("t-1", "jane bob", "shop=rest", "60", "60"))
		if e := r.refused(err, ledger.CodeAccountFrozen); e.Account != "jane" || e.Fields[0].Field != (ledger.Field{List: "from", Leg: 1, Name: "account"}) {
			t.Errorf("%+v", e)
		}
	})
}

// An attempt that is applied late counts, whatever the command decided for the attempts after it.
func TestSplitThatFitsOfALateAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "30")
		r.fund("bob", "USD", "100")
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			err := late(50*time.Millisecond)(ctx, c)
			if _, failed := r.another().Post(t.Context(), withActor(transfer("c-1", "bank", "jane", "5"))); failed != nil {
				t.Error(failed)
			}
			return err
		}}
		posted := r.mustPost(pays("t-1", "jane bob", "shop=rest", "60", ""))
		if header := r.stored("t-1", true); !slices.Equal(posted.Header.Legs, header.Legs) {
			t.Errorf("%s was answered, %+v is stored", legsOf(posted), header.Legs)
		}
	})
}

// An earlier attempt of unknown outcome may have had less, which could be divided. So a quantity that cannot be divided
// refuses nothing then; one that is too small does.
func TestSplitThatCannotBeDividedAfterAnUnknownOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile ledger.PostTransfer
		code      ledger.Code
		isPosted  bool
	}{
		"not divided": {transfer("c-1", "bank", "jane", "1"), ledger.CodeOutcomeUnknown, true},
		"too little":  {transfer("c-1", "jane", "bank", "1"), ledger.CodeInsufficientFunds, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "2")
				r.journal.steps = []appended{func(ctx context.Context, sent commit) error {
					err := late(20*time.Second)(ctx, sent)
					if _, failed := r.another().Post(t.Context(), withActor(c.meanwhile)); failed != nil {
						t.Error(failed)
					}
					other := sweep("t-2", "jane", "bank", "", "", "") // this process learns what jane has
					other.DryRun = true
					if _, failed := r.post(other); failed != nil {
						t.Error(failed)
					}
					return err
				}}
				_, err := r.post(pays("t-1", "jane", "fees=50% market=50% shop=rest", "", "2"))
				r.refused(err, c.code)
				time.Sleep(time.Minute)
				r.stored("t-1", c.isPosted)
			})
		})
	}
}

// With known funds, several sources take no more requests than one: a source that has less than is asked of it is read.
func TestSplitThatFitsOfKnownFunds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for _, account := range []string{"jane", "bob", "margin"} {
			r.fund(account, "USD", "100")
			r.mustPost(transfer("", account, "market", "1"))
		}
		r.mustPost(pays("", "jane bob margin", "fees=1% shop=rest", "1", "")) // the accounts are known then
		for _, c := range []struct {
			upTo  string
			calls string
		}{
			{"70", "Append"},
			// What is remembered is what an account received. That it is spent, its guard tells.
			{"70", "Append Funds Append"},
			{"70", "Append Funds Append Funds Append"},
		} {
			r.journal.forget()
			posted := r.mustPost(pays("", "jane bob margin", "fees=1% shop=rest", c.upTo, ""))
			if calls := strings.Join(r.journal.calls, " "); calls != c.calls {
				t.Errorf("%s: %s; want %s", legsOf(posted), calls, c.calls)
			}
		}
	})
}

func TestSplitsThatFitInBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		batch := func(atomic bool, all ...ledger.Request) ([]ledger.BatchResult, error) {
			return r.PostBatch(t.Context(), all, atomic)
		}
		results, err := batch(true, transfer("a-1", "bank", "jane", "60"), transfer("a-2", "bank", "bob", "60"),
			pays("a-3", "margin jane bob", "fees=10% shop=rest", "100", "100"), transfer("a-4", "shop", "bank", "90"))
		if err != nil || legsOf(results[2].Posted) != "jane -60, bob -40, fees 10, shop 90" {
			t.Fatalf("%v, %+v", err, results)
		}
		_, err = batch(true, transfer("b-1", "bob", "bank", "5"), pays("b-2", "jane bob", "shop=rest", "", ""))
		if e := r.refused(err, ledger.CodeInvalidTransaction); e.Request != 2 || e.Fields[0].Field.Name != "up_to" {
			t.Errorf("%+v", e)
		}
		_, err = batch(true, transfer("c-1", "bank", "jane", "5"), pays("c-2", "jane bob", "fees=1%+30 shop=rest", "", ""))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 2 || e.Funds.Available != amount("25") {
			t.Errorf("%+v", e)
		}
		results, err = batch(false, transfer("d-1", "bob", "bank", "3"), pays("d-2", "jane bob", "shop=rest", "", ""), transfer("d-3", "bob", "bank", "1"))
		if err != nil || results[0].Err != nil || legsOf(results[1].Posted) != "bob -17, shop 17" {
			t.Fatalf("%v, %+v", err, results)
		}
		if results[2].Err == nil || results[2].Err.Code != ledger.CodeInsufficientFunds {
			t.Errorf("%+v", results[2])
		}
	})
}

// A hold reserves of each source what it gives.
func TestSplitThatFitsOfAHold(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "30")
		r.fund("bob", "USD", "100")
		request := pays("h-1", "jane bob", "fees=10% shop=rest", "80", "")
		request.Hold = &ledger.HoldRequest{}
		if posted := r.mustPost(request); legsOf(posted) != "jane -30, bob -50, fees 8, shop 72" {
			t.Errorf("%s", legsOf(posted))
		}
		half := amount("40")
		captured, err := r.post(ledger.CaptureRequest{Transaction: "h-1", Part: ledger.Part{Quantity: &half}, Actor: "tester"})
		if err != nil || captured.Ended.Legs[0].Quantity != amount("-15") {
			t.Errorf("%v, %+v", err, captured.Ended)
		}
		if posted := r.mustPost(pays("t-1", "jane bob", "shop=rest", "", "")); legsOf(posted) != "jane -15, bob -75, shop 90" {
			t.Errorf("%s", legsOf(posted))
		}
	})
}

func TestSplitsThatFitAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		past := storeNow().Add(-time.Hour)
		backdated := pays("t-1", "jane", "shop=rest", "", "")
		backdated.EffectiveAt = &past
		kept := pays("t-1", "jane", "shop=rest", "", "")
		kept.Fit.Keep = amount("5")
		many := strings.Repeat("jane ", ledger.SourcesMax+1)
		none := pays("t-1", "", "shop=rest", "", "")
		none.Sources = []ledger.Source{}
		for name, c := range map[string]struct {
			request ledger.PostSplit
			code    ledger.Code
			fields  string
		}{
			"zero":                 {pays("t-1", "jane", "shop=rest", "0", ""), ledger.CodeInvalidRequest, "up_to"},
			"nothing at least":     {pays("t-1", "jane", "shop=rest", "5", "0"), ledger.CodeInvalidRequest, "at_least"},
			"too long":             {pays("t-1", "bob jane>12345678901234567890123456789", "shop=rest", "", ""), ledger.CodeInvalidRequest, "from[1].keep"},
			"no id":                {pays("t-1", "bob ja*ne", "shop=rest", "", ""), ledger.CodeInvalidRequest, "from[1].account"},
			"backdated":            {backdated, ledger.CodeInvalidRequest, "effective_at"},
			"least above most":     {pays("t-1", "jane", "shop=rest", "5", "6"), ledger.CodeInvalidTransaction, "at_least"},
			"two keeps":            {kept, ledger.CodeInvalidTransaction, "keep"},
			"twice":                {pays("t-1", "jane bob jane", "shop=rest", "5", ""), ledger.CodeInvalidTransaction, "from[2].account"},
			"to itself":            {pays("t-1", "bob jane", "jane=rest", "5", ""), ledger.CodeInvalidTransaction, "from[1].account to[0].account"},
			"none":                 {none, ledger.CodeInvalidTransaction, "from"},
			"too many":             {pays("t-1", many, "shop=rest", "", ""), ledger.CodeInvalidTransaction, "from"},
			"too much in shares":   {pays("t-1", "jane", "fees=50% market=51% shop=rest", "", ""), ledger.CodeInvalidTransaction, "to"},
			"too much of up_to":    {pays("t-1", "jane", "fees=50%+30 shop=rest", "59", ""), ledger.CodeInvalidTransaction, "to"},
			"no rest":              {pays("t-1", "jane", "fees=50% shop=50%", "", ""), ledger.CodeUnbalanced, "to"},
			"no rest of up_to":     {pays("t-1", "jane", "fees=50% shop=50%", "100", ""), ledger.CodeUnbalanced, "to"},
			"all of an unlimited":  {pays("t-1", "jane market", "shop=rest", "", ""), ledger.CodeInvalidTransaction, "up_to"},
			"kept by an unlimited": {pays("t-1", "jane market>1", "shop=rest", "5", ""), ledger.CodeInvalidTransaction, "from[1].keep"},
			"unknown":              {pays("t-1", "jane nobody", "shop=rest", "5", ""), ledger.CodeAccountNotFound, "from[1].account"},
		} {
			_, err := r.post(c.request)
			var fields []string
			for _, f := range r.refused(err, c.code).Fields {
				name := f.Field.Name
				if f.Field.Leg > 0 {
					name = fmt.Sprintf("%s[%d].%s", f.Field.List, f.Field.Leg-1, name)
				}
				if !slices.Contains(fields, name) {
					fields = append(fields, name)
				}
			}
			if got := strings.Join(fields, " "); !strings.HasPrefix(got, c.fields) {
				t.Errorf("%s: %s, want %s: %v", name, got, c.fields, err)
			}
		}
		r.stored("t-1", false)
	})
}

// Whoever sends it needs the right to debit every source, also one that gives nothing.
func TestSourcesAreDebited(t *testing.T) {
	r := pays("t-1", "jane bob", "fees=1% shop=rest", "5", "")
	if debited := ledger.Debited(r); !slices.Equal(debited, []string{"jane", "bob"}) {
		t.Errorf("%v", debited)
	}
	if n := ledger.BatchPostings(r); n != 4 {
		t.Errorf("%d postings", n)
	}
}
