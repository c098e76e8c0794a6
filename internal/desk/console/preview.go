package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// preview describes the effect of a form before it is sent.
type preview struct {
	Title     string
	ExpiresAt string // of the hold to place
	Effects   []effect
	More      int  // number of accounts and assets that are not shown
	IsPosted  bool // it was posted before, so nothing changes
}

// effect is what a request does to a balance.
type effect struct {
	Account, Asset string
	Name           string // of the account, "" if the caller may not see it
	Reserved       bool   // the amount is only reserved, or becomes available again
	Quantity, Cost events.Amount
	Now, Then      *client.Balance // nil if the caller may not see it
}

// effectsMost is the most balances that a preview shows.
const effectsMost = 24

// preview does a dry run of the form and stores the result in it.
func (v *visit) preview(f *form) error {
	if err := v.resolve(f); err != nil {
		return err
	}
	request, err := v.request(f)
	if err == nil && f.look != nil {
		err = f.look(v, f)
	}
	if err != nil || !f.isDry() {
		f.Confirm = err == nil
		return err
	}
	planned, err := v.api.DryRun(v.ctx, request)
	if err != nil {
		return err
	}
	t := planned.Value
	p := preview{Title: "What will be posted", IsPosted: t.RecordedAt != "" && f.HasID}
	switch {
	case t.Status == client.StatusHeld:
		p.Title = "What will be held"
	case t.Status == client.StatusReleased || t.Status == client.StatusExpired:
		p.Title = "What will be released"
	case t.Kind == string(events.KindReversal):
		p.Title = "What the reversal will post"
	}
	if hold, err := f.hold(); err == nil && hold != nil { // a dry run returns no times
		p.ExpiresAt = events.FormatTime(hold.(client.Hold).ExpiresAt)
	}
	if p.Effects, err = effects(t); err != nil {
		return err
	}
	shown := firstOf(p.Effects, effectsMost)
	p.Effects, p.More = shown.First, shown.More
	f.Preview, f.Confirm = &p, true
	if err := v.balances(p.Effects, t); err != nil {
		return err
	}
	return v.loadAll([]client.Transaction{t})
}

// effects returns what a planned transaction does to each account and asset, in the order of the postings. Error:
// events.ErrOverflow.
func effects(t client.Transaction) (all []effect, err error) {
	isHeld := t.Status == client.StatusHeld
	isFreed := t.Status == client.StatusReleased || t.Status == client.StatusExpired
	for _, p := range t.AsPosted() {
		if isFreed {
			if p.Quantity.Sign() > 0 {
				continue
			}
			p.Quantity = p.Quantity.Neg()
		}
		i := slices.IndexFunc(all, func(e effect) bool { return e.Account == p.Account && e.Asset == p.Asset })
		if i < 0 {
			i, all = len(all), append(all, effect{Account: p.Account, Asset: p.Asset, Reserved: isHeld || isFreed})
		}
		e := &all[i]
		var err1, err2 error
		e.Quantity, err1 = e.Quantity.Add(p.Quantity)
		e.Cost, err2 = e.Cost.Add(p.Cost)
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// balances reads the balances of effects, as they are and as they will be.
func (v *visit) balances(all []effect, t client.Transaction) error {
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i := range all {
		e := &all[i]
		g.Go(func() error {
			now, err := v.api.Balance(ctx, e.Account, e.Asset, true)
			switch status := refusal(err).Status; {
			case status == http.StatusNotFound || status == http.StatusForbidden: // of a user without a role on it
				return nil
			case err != nil:
				return err
			}
			e.Name = v.directories.name(e.Account)
			e.Now, e.Then = &now.Value, new(now.Value)
			return e.then(t)
		})
	}
	return g.Wait()
}

// then changes the balance of an effect as the transaction will. Error: events.ErrOverflow.
func (e *effect) then(t client.Transaction) error {
	posted, available := e.Quantity, e.Quantity
	if e.Reserved {
		if posted = (events.Amount{}); e.Quantity.Sign() > 0 && t.Status == client.StatusHeld {
			available = posted // a credit is not available before the capture
		}
	}
	for _, p := range t.Postings { // a capture uses what its hold reserved
		if t.Status == client.StatusCaptured && p.Account == e.Account && p.Asset == e.Asset && p.Quantity.Sign() < 0 {
			var err error
			if available, err = available.Sub(p.Quantity); err != nil {
				return err
			}
		}
	}
	var err error
	if e.Then.Quantity, err = e.Now.Quantity.Add(posted); err != nil || e.Now.Available == nil {
		return err
	}
	sum, err := e.Now.Available.Add(available)
	e.Then.Available = &sum
	return err
}

// fullCapture returns the form values that capture all of a held transfer or trade, nil for other transactions. The
// units must have loaded the assets.
func fullCapture(u *units.Units, t client.Transaction) url.Values {
	if len(t.Postings) == 0 || !hasParts(t) {
		return nil
	}
	first := t.Postings[0]
	v := url.Values{"quantity": {u.Quantity(first.Asset, first.Quantity.Abs())}}
	if !first.Cost.IsZero() {
		cost, _ := u.Cost(first.Asset, first.Cost.Abs())
		v.Set("cost", cost)
	}
	return v
}
