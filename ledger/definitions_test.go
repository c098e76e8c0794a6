package ledger_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

func TestRegisterAsset(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		gold := ledger.RegisterAsset{ID: "XAU", Name: "Gold", Description: "ounces", Scale: 3, Currency: "EUR", Actor: "tester"}
		at := storeNow()
		first, created, err := r.RegisterAsset(t.Context(), gold)
		want := events.AssetRegistered{ID: "XAU", Name: "Gold", Description: "ounces", Scale: 3, Currency: "EUR", Actor: "tester", At: at.UTC().Round(0).Truncate(time.Microsecond)}
		if err != nil || !created || first != want {
			t.Errorf("got %+v, %v, %v; want %+v", first, created, err, want)
		}
		for _, restart := range []bool{false, true} {
			if time.Sleep(time.Hour); restart {
				r.restart()
			}
			again := gold
			again.Actor = "somebody else"
			if got, created, err := r.RegisterAsset(t.Context(), again); err != nil || created || got != first {
				t.Errorf("again: %+v, %v, %v", got, created, err)
			}
			for _, change := range []func(*ledger.RegisterAsset){
				func(r *ledger.RegisterAsset) { r.Name = "gold" }, func(r *ledger.RegisterAsset) { r.Description = "" },
				func(r *ledger.RegisterAsset) { r.Scale = 2 }, func(r *ledger.RegisterAsset) { r.Currency = "USD" },
				func(r *ledger.RegisterAsset) { r.Currency = "" },
			} {
				other := gold
				change(&other)
				_, _, err := r.RegisterAsset(t.Context(), other)
				r.refused(err, ledger.CodeAssetExists)
			}
		}
		if got, err := r.Asset(t.Context(), "XAU"); err != nil || got != first {
			t.Errorf("read %+v, %v", got, err)
		}
	})
}

func TestDefinitionsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		_, _, err := r.RegisterAsset(ctx, ledger.RegisterAsset{Name: "n", Scale: 19, Actor: "tester"})
		sameFields(t, r.refused(err, ledger.CodeInvalidRequest).Fields, "id", "scale")
		_, _, err = r.RegisterAsset(ctx, ledger.RegisterAsset{ID: "XAU", Name: "n", Currency: "CHF", Actor: "tester"})
		e := r.refused(err, ledger.CodeAssetNotFound)
		if sameFields(t, e.Fields, "currency"); e.OfPath {
			t.Error("the currency stands in the body")
		}
		_, _, err = r.OpenAccount(ctx, ledger.OpenAccount{ID: "x", Profile: "1", Actor: "tester"})
		sameFields(t, r.refused(err, ledger.CodeInvalidRequest).Fields, "profile")
		_, _, err = r.OpenAccount(ctx, ledger.OpenAccount{ID: "x", Actor: "tester", Overdraft: events.Overdraft{
			Limits: map[string]events.Amount{"CHF": {}, "USD": amount("1"), "AUD": amount("1")}}})
		sameFields(t, r.refused(err, ledger.CodeAssetNotFound).Fields, "overdraft.AUD", "overdraft.CHF")
		_, _, err = r.RegisterAsset(ctx, ledger.RegisterAsset{ID: "XAU", Name: "n"})
		r.refused(err, ledger.CodeInternal)
		_, _, err = r.OpenAccount(ctx, ledger.OpenAccount{ID: "x"})
		r.refused(err, ledger.CodeInternal)
		for _, id := range []string{"XAU", "x", "no one"} {
			_, err := r.Asset(ctx, id)
			if e := r.refused(err, ledger.CodeAssetNotFound); !e.OfPath {
				t.Error("it stands in the path")
			}
			_, err = r.Account(ctx, id)
			r.refused(err, ledger.CodeAccountNotFound)
			_, err = r.Transaction(ctx, id)
			r.refused(err, ledger.CodeTransactionNotFound)
		}
		// Absence is never remembered.
		if _, _, err := r.RegisterAsset(ctx, ledger.RegisterAsset{ID: "CHF", Name: "Franc", Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
		if _, created, err := r.RegisterAsset(ctx, ledger.RegisterAsset{ID: "XAU", Name: "n", Currency: "CHF", Actor: "tester"}); err != nil || !created {
			t.Error(created, err)
		}
	})
}

func TestOpenAccount(t *testing.T) {
	limits := func(pairs ...string) events.Overdraft {
		o := events.Overdraft{Limits: map[string]events.Amount{}}
		for i := 0; i < len(pairs); i += 2 {
			o.Limits[pairs[i]] = amount(pairs[i+1])
		}
		return o
	}
	for name, test := range map[string]struct {
		first ledger.OpenAccount
		same  []ledger.OpenAccount
		other []ledger.OpenAccount
	}{
		"plain": {ledger.OpenAccount{},
			[]ledger.OpenAccount{{Profile: "{}"}, {Profile: " { } "}, {Overdraft: limits()}, {Overdraft: limits("USD", "0")}},
			[]ledger.OpenAccount{{Name: "x"}, {Profile: `{"a":null}`}, {Overdraft: limits("USD", "1")}, {Overdraft: events.Overdraft{Unlimited: true}}}},
		"unlimited": {ledger.OpenAccount{Overdraft: events.Overdraft{Unlimited: true}},
			[]ledger.OpenAccount{{Overdraft: events.Overdraft{Unlimited: true}}}, []ledger.OpenAccount{{}, {Overdraft: limits("USD", "1")}}},
		"limits": {ledger.OpenAccount{Overdraft: limits("USD", "5", "EUR", "0")},
			[]ledger.OpenAccount{{Overdraft: limits("USD", "5")}, {Overdraft: limits("USD", "5", "AAPL", "0")}},
			[]ledger.OpenAccount{{Overdraft: limits("USD", "6")}, {Overdraft: limits("USD", "5", "EUR", "1")}, {Overdraft: limits("EUR", "5")}, {}}},
		"profile": {ledger.OpenAccount{Name: "n", Profile: `{"b":[1.50,{"y":"é","x":null}], "a":1e3}`},
			[]ledger.OpenAccount{{Name: "n", Profile: `{"a":1e3,"b":[1.50,{"x":null,"y":"\u00e9"}]}`}},
			[]ledger.OpenAccount{{Name: "n", Profile: `{"a":1000,"b":[1.50,{"x":null,"y":"é"}]}`}, {Name: "n", Profile: `{"a":1e3,"b":[1.5,{"x":null,"y":"é"}]}`},
				{Name: "n", Profile: `{"a":1e3,"b":[{"x":null,"y":"é"},1.50]}`}, {Name: "n", Profile: `{"a":1e3,"b":[1.50,{"y":"é"}]}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				ctx := t.Context()
				test.first.ID, test.first.Actor = "a-"+name, "tester"
				first, created, err := r.OpenAccount(ctx, test.first)
				if err != nil || !created {
					t.Fatal(created, err)
				}
				for _, restart := range []bool{false, true} {
					if restart {
						r.restart()
					}
					for _, same := range append(test.same, test.first) {
						same.ID, same.Actor = test.first.ID, "other"
						if got, created, err := r.OpenAccount(ctx, same); err != nil || created || !reflect.DeepEqual(got, first) {
							t.Errorf("%+v: %+v, %v, %v", same, got, created, err)
						}
					}
					for _, other := range test.other {
						other.ID, other.Actor = test.first.ID, "tester"
						_, _, err := r.OpenAccount(ctx, other)
						r.refused(err, ledger.CodeAccountExists)
					}
				}
				if got, err := r.Account(ctx, test.first.ID); err != nil || !reflect.DeepEqual(got, first) {
					t.Errorf("read %+v, %v", got, err)
				}
				if want := `{"b":[1.50,{"y":"é","x":null}],"a":1e3}`; name == "profile" && first.Profile != want {
					t.Errorf("stored profile %s: not as first given", first.Profile)
				}
			})
		})
	}
}

func TestPutUnderFaults(t *testing.T) {
	open := func(r *rig) (bool, error) {
		_, created, err := r.OpenAccount(r.t.Context(), ledger.OpenAccount{ID: "new", Profile: `{"a":1}`, Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": amount("1")}}, Actor: "tester"})
		return created, err
	}
	register := func(r *rig) (bool, error) {
		_, created, err := r.RegisterAsset(r.t.Context(), ledger.RegisterAsset{ID: "NEW", Name: "n", Currency: "USD", Actor: "tester"})
		return created, err
	}
	for kind, do := range map[string]func(*rig) (bool, error){"account": open, "asset": register} {
		for name, test := range map[string]struct {
			steps   []put
			forever put
			code    ledger.Code
		}{
			"throttled":               {steps: []put{putAnswers(errThrottled), putAnswers(errUnavailable), putAnswers(errConflict)}},
			"unknown, not applied":    {steps: []put{putAnswers(errUnknown)}},
			"unknown, applied":        {steps: []put{putApplied(errUnknown)}},
			"unknown, throttled":      {steps: []put{putApplied(errUnknown), putAnswers(errThrottled)}},
			"throttled for ever":      {forever: putAnswers(errThrottled), code: ledger.CodeThrottled},
			"unavailable for ever":    {forever: putAnswers(errUnavailable), code: ledger.CodeUnavailable},
			"conflict for ever":       {forever: putAnswers(errConflict), code: ledger.CodeContention},
			"unknown, then throttled": {steps: []put{putApplied(errUnknown)}, forever: putAnswers(errThrottled), code: ledger.CodeOutcomeUnknown},
			"unknown for ever":        {forever: putAnswers(errUnknown), code: ledger.CodeOutcomeUnknown},
			"a bug":                   {forever: putAnswers(errors.New("a bug")), code: ledger.CodeInternal},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					p := r.withPuts()
					p.steps, p.forever = test.steps, test.forever
					start := time.Now()
					created, err := do(r)
					if d := time.Since(start); d > 8*time.Second || d < 7*time.Second && test.code == ledger.CodeOutcomeUnknown {
						t.Errorf("lived for %v", d)
					}
					if test.code != "" {
						r.refused(err, test.code)
						p.forever = nil
						if _, err := do(r); err != nil {
							t.Errorf("asked again: %v", err)
						}
						return
					}
					if err != nil || !created {
						t.Errorf("created %v, %v", created, err)
					}
				})
			})
		}
	}
}

// Another request put the same while the outcome of this one's was unknown: it was there before.
func TestPutByAnotherMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		other := ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Now: storeNow})
		gold := ledger.RegisterAsset{ID: "XAU", Name: "Gold", Actor: "tester"}
		var first events.AssetRegistered
		r.withPuts().steps = []put{func(func() error) error {
			var err error
			theirs := gold
			theirs.Actor = "another"
			if first, _, err = other.RegisterAsset(t.Context(), theirs); err != nil {
				t.Error(err)
			}
			return errUnknown
		}}
		if got, created, err := r.RegisterAsset(t.Context(), gold); err != nil || created || got != first {
			t.Errorf("%+v, %v, %v; first was %+v", got, created, err, first)
		}
	})
}
