package roundtrip

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

var (
	assets   = []string{"AAPL", "EUR", "USD"}
	accounts = []string{"ann", "bank", "ben", "closed", "shop"}
	groups   = []string{"blue", "red"}
	users    = []string{"mary", "paul"}
)

// history posts a random history.
type history struct {
	*ledger
	*rand.Rand
	ids   []string // of all transactions that were posted
	holds []string
	n     int
	now   func(t *testing.T) // is called now and then
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// instants are some effective times, so few that many transactions share one.
func (h *history) instant() time.Time {
	if h.IntN(3) > 0 {
		return time.Time{}
	}
	return began.Add(-time.Duration(1+h.IntN(3)) * 24 * time.Hour)
}

func (h *history) id(what string) string {
	h.n++
	return fmt.Sprintf("%s-%d", what, h.n)
}

func (h *history) quantity() events.Amount { return events.NewAmount(1 + h.Int64N(50)) }

func (h *history) metadata() map[string]string {
	if h.IntN(2) == 0 {
		return nil
	}
	return map[string]string{"order": fmt.Sprint(h.IntN(9)), "Ünï, \"": "<a&b>"}
}

// did takes the answer to a request. A refusal is an answer.
func (h *history) did(t *testing.T, err error) bool {
	t.Helper()
	refused, ok := errors.AsType[*client.Error](err)
	if err != nil && (!ok || refused.Status >= 500) {
		t.Fatal(err)
	}
	return err == nil
}

// request draws a transfer, a trade or a transaction, of which two postings may have the same account and asset.
func (h *history) request() client.Request {
	at, hold := h.instant(), (*client.Hold)(nil)
	if h.IntN(3) == 0 {
		at, hold = time.Time{}, &client.Hold{}
		if h.IntN(2) == 0 {
			hold.ExpiresAt = time.Now().Add(time.Duration(1+h.IntN(2)*100) * 20 * time.Second)
		}
	}
	id, said := h.id("t"), client.Annotation{Metadata: h.metadata()}
	if said.Description = pick(h.Rand, []string{"", "Lunch; \"really\""}); h.IntN(2) == 0 {
		said = whole(said)
	}
	from, to := pick(h.Rand, accounts), pick(h.Rand, accounts)
	switch h.IntN(3) {
	case 0:
		asset, quantity := pick(h.Rand, assets), h.quantity()
		if at.IsZero() && h.IntN(2) == 0 {
			return h.fits(id, said, hold)
		}
		if h.n%3 == 0 {
			return client.Split{ID: id, Annotation: said, From: client.From{Account: from}, Asset: asset, Quantity: quantity, Hold: hold, EffectiveAt: at,
				To: []client.Portion{{Account: to, Share: "33.3%"}, {Account: to, Rest: 2}, {Account: to, Rest: 1}}}
		}
		return client.Transfer{ID: id, Annotation: said, From: from, To: to,
			Asset: asset, Quantity: quantity, Hold: hold, EffectiveAt: at}
	case 1:
		return client.Trade{ID: id, Annotation: said, Asset: "AAPL", Buyer: from, Seller: to,
			Quantity: h.quantity(), Cost: events.NewAmount(h.Int64N(30)), Settle: h.IntN(2) == 0, Hold: hold, EffectiveAt: at}
	}
	a, b := h.quantity(), h.quantity()
	sum, _ := a.Add(b)
	legs := []client.Leg{{Account: from, Asset: "USD", Quantity: a.Neg()}, {Account: from, Asset: "USD", Quantity: b.Neg()},
		{Account: to, Asset: "USD", Quantity: sum}, {Account: "bank", Asset: "AAPL", Cost: a}, {Account: "bank", Asset: "AAPL", Cost: a.Neg()}}
	return client.TransactionRequest{ID: id, Annotation: said, Postings: legs, Hold: hold, EffectiveAt: at}
}

// fits draws a transfer of as much as fits, or a split of it from one account or from two.
func (h *history) fits(id string, said client.Annotation, hold *client.Hold) client.Request {
	asset, upTo, keep := pick(h.Rand, assets), client.All, events.NewAmount(h.Int64N(50))
	if h.IntN(3) > 0 {
		upTo = client.UpTo(events.NewAmount(50 + h.Int64N(200)).String())
	}
	of := h.Perm(len(accounts))
	from, second, to, other := accounts[of[0]], accounts[of[1]], accounts[of[2]], accounts[of[3]]
	if h.IntN(4) == 0 {
		return client.Transfer{ID: id, Annotation: said, From: from, To: to, Asset: asset, UpTo: upTo, Keep: &keep, Hold: hold}
	}
	s := client.Split{ID: id, Annotation: said, From: client.From{Account: from}, Asset: asset, UpTo: upTo, Keep: &keep, Hold: hold,
		To: []client.Portion{{Account: to, Share: "33.3%"}, {Account: other, Quantity: new(events.NewAmount(1))}, {Account: to, Rest: 1}}}
	if h.IntN(3) > 0 {
		s.From.Sources, s.Keep = []client.Source{{Account: from, Keep: &keep}, {Account: second}}, nil
	}
	return s
}

// isOfOneAsset reports whether legs are those of a split here.
func isOfOneAsset(legs []client.Posting) bool {
	return len(legs) > 0 && !slices.ContainsFunc(legs, func(p client.Posting) bool { return p.Asset != legs[0].Asset })
}

// part draws a part of a transaction, in the form of its kind. sign is -1 where the rest is given.
func (h *history) part(of client.Transaction) (p client.Part) {
	legs := of.AsPosted()
	switch {
	case h.IntN(3) == 0:
		return p
	case of.Kind == "transfer" || of.Kind == "trade" || isOfOneAsset(legs):
		q := events.NewAmount(h.Int64N(30))
		p.Quantity = &q
		if c := events.NewAmount(h.Int64N(20)); of.Kind == "trade" {
			p.Cost = &c
		}
		return p
	}
	// All of one posting in USD, or a bit of it, against the last one in USD.
	last, n, most := 0, h.IntN(2), int64(0)
	for i, leg := range legs {
		if leg.Asset == "USD" && !leg.Quantity.IsZero() {
			last = i
		}
	}
	for most = 50; most > 1 && events.NewAmount(most).Cmp(abs(legs[min(n, last)].Quantity)) > 0; {
		most--
	}
	took := events.NewAmount(1 + h.Int64N(most))
	for i, leg := range legs {
		var taken client.Taken
		if i == n && i != last || i == last {
			if taken.Quantity = took; leg.Quantity.Sign() < 0 {
				taken.Quantity = took.Neg()
			}
		}
		p.Postings = append(p.Postings, taken)
	}
	return p
}

func abs(a events.Amount) events.Amount {
	if a.Sign() < 0 {
		return a.Neg()
	}
	return a
}

func (h *history) post(t *testing.T, r client.Request) {
	posted, w, err := h.api.Post(t.Context(), r)
	if h.did(t, err) && w.New && posted.EndedAt == "" {
		h.ids = append(h.ids, posted.ID)
		if posted.Status == client.StatusHeld {
			h.holds = append(h.holds, posted.ID)
		}
	}
}

// step does something.
func (h *history) step(t *testing.T) {
	ctx := t.Context()
	switch n := h.IntN(20); {
	case n < 9 || len(h.ids) == 0 || len(h.holds) == 0:
		h.post(t, h.request())
	case n == 9: // of one instant
		batch := client.Batch{Atomic: true}
		for range 5 {
			batch.Requests = append(batch.Requests, client.Transfer{ID: h.id("a"), From: "bank", To: "ann", Asset: "USD", Quantity: h.quantity()})
		}
		outcomes, err := h.api.Batch(ctx, batch)
		if h.did(t, err) {
			for _, o := range outcomes {
				posted, _ := o.Transaction()
				h.ids = append(h.ids, posted.ID)
			}
		}
	case n < 12:
		id := pick(h.Rand, h.holds)
		hold, err := h.api.Transaction(ctx, id)
		if h.did(t, err) {
			h.post(t, client.Capture{Transaction: id, Part: h.part(hold.Value)})
		}
	case n == 12:
		h.post(t, client.Release{Transaction: pick(h.Rand, h.holds), Description: pick(h.Rand, []string{"", "No"})})
	case n < 16:
		of, err := h.api.Transaction(ctx, pick(h.Rand, h.ids))
		if h.did(t, err) {
			h.post(t, client.Reversal{Transaction: of.Value.ID, ID: h.id("r"), Annotation: client.Annotation{Description: "Back", Metadata: h.metadata()},
				EffectiveAt: h.instant(), Part: h.part(of.Value)})
		}
	case n < 18:
		patch := client.AccountPatch{State: pick(h.Rand, []string{"", client.StateFrozen, client.StateOpen})}
		if id := pick(h.Rand, accounts); h.IntN(2) == 0 && id != "bank" {
			patch.Overdraft = &client.Overdraft{Limits: map[string]events.Amount{"USD": h.quantity()}}
		}
		if h.IntN(3) == 0 {
			patch.Rates = []client.Rate{{Asset: "USD", Per: "day", Zone: "Europe/Berlin", Quantity: h.quantity()}}[h.IntN(2):]
		}
		name := pick(h.Rand, []string{"A", "B \"b\""})
		patch.Name = &name
		_, err := h.api.PatchAccount(ctx, pick(h.Rand, []string{"ann", "ben", "shop"}), patch)
		h.did(t, err)
	case n == 18:
		m := client.Member{User: pick(h.Rand, users), Role: pick(h.Rand, []string{client.RoleViewer, client.RoleOwner})}
		if m.Account = pick(h.Rand, accounts); h.IntN(2) == 0 {
			m.Account, m.Group = "", pick(h.Rand, groups)
		}
		do := h.api.Grant
		if h.IntN(3) == 0 {
			do = h.api.Revoke
		}
		_, _, err := do(ctx, m)
		h.did(t, err)
	default:
		do := h.api.PutInGroup
		if h.IntN(3) == 0 {
			do = h.api.TakeOutOfGroup
		}
		_, _, err := do(ctx, pick(h.Rand, groups), pick(h.Rand, accounts))
		h.did(t, err)
	}
	if h.IntN(4) == 0 {
		time.Sleep(time.Duration(h.IntN(5_000)) * time.Millisecond)
	}
}

// whole sets the texts of a resource or of an annotation that are not set, so that every field is exported and imported.
func whole[T any](resource T) T {
	v := reflect.ValueOf(&resource).Elem()
	for _, f := range client.FieldsOf(v.Type()) {
		if text := v.FieldByIndex(f.Index); f.IsSettable() && f.Is() != "ID" && text.Kind() == reflect.String && text.IsZero() {
			text.SetString("the " + f.JSON)
		}
	}
	return resource
}

// live defines everything, posts a random history, and closes an account.
func (h *history) live(t *testing.T, steps int) {
	ctx := t.Context()
	for _, a := range []client.Asset{{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "EUR", Name: "Euro", Scale: 2},
		{ID: "AAPL", Name: "Apple", Description: "Stock", Currency: "USD"}} {
		_, _, err := h.api.RegisterAsset(ctx, whole(a))
		h.did(t, err)
	}
	for _, id := range accounts {
		a := client.Account{ID: id, Name: id, Profile: []byte(`{"email":"` + id + `@example.com"}`), Metadata: h.metadata()}
		if a.Overdraft.Unlimited = id == "bank"; id == "ben" {
			a.Overdraft.Limits = map[string]events.Amount{"USD": events.NewAmount(100)}
		}
		_, _, err := h.api.OpenAccount(ctx, whole(a))
		h.did(t, err)
	}
	for _, id := range groups {
		_, _, err := h.api.RegisterGroup(ctx, whole(client.Group{ID: id, Name: "The " + id, Description: id}))
		h.did(t, err)
	}
	for _, id := range accounts[:len(accounts)-1] {
		for _, asset := range assets {
			if id != "bank" {
				h.post(t, client.Transfer{ID: h.id("d"), From: "bank", To: id, Asset: asset, Quantity: events.NewAmount(200)})
			}
		}
	}
	for n := range steps {
		h.step(t)
		if n%20 == 19 {
			h.now(t)
		}
	}
	time.Sleep(time.Minute) // some holds expire
	h.sweep(t)
	for _, asset := range assets { // what is not zero or pending keeps the account open
		b, err := h.api.Balance(ctx, "closed", asset, true)
		if h.did(t, err) && b.Value.Quantity.Sign() > 0 {
			h.post(t, client.Transfer{ID: h.id("c"), From: "closed", To: "bank", Asset: asset, Quantity: b.Value.Quantity})
		}
	}
	var least []client.Rate // an import of what was debited before must not count it
	for _, asset := range assets {
		least = append(least, client.Rate{Asset: asset, Per: "month", Zone: "UTC", Quantity: events.NewAmount(1)})
	}
	for _, id := range []string{"ann", "ben"} {
		_, err := h.api.PatchAccount(ctx, id, client.AccountPatch{Rates: least})
		h.did(t, err)
	}
	time.Sleep(10 * time.Second)
	_, err := h.api.PatchAccount(ctx, "closed", client.AccountPatch{State: client.StateClosed})
	h.did(t, err)
	time.Sleep(time.Minute) // the journal has everything
}
