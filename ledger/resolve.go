package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// resolve finds what the request names, and sees to it that something is known of the credits of each pair that it
// debits: from memory when all was seen before, else in one look, and one more for the cash of a settled trade whose
// currency was not known. What doesn't exist or is forbidden is an error.
func (l *Ledger) resolve(ctx context.Context, r PostingRequest) (*definitions, error) {
	accounts, assets := r.names()
	d, wanted := l.remembered(accounts, assets)
	wanted.Credits = l.unknownCredits(r, d)
	warm := wanted.empty()
	if !warm {
		if err := l.learn(ctx, wanted, d); err != nil {
			return d, err
		}
	}
	if err := d.check(r, accounts, assets); err != nil {
		return d, err
	}
	if warm {
		return d, nil
	}
	if wanted = (Wanted{Credits: l.unknownCredits(r, d)}); !wanted.empty() {
		if err := l.learn(ctx, wanted, d); err != nil {
			return d, err
		}
	}
	return d, nil
}

// remembered returns the definitions that are known already, and what is left to look for.
func (l *Ledger) remembered(accounts, assets []name) (d *definitions, wanted Wanted) {
	d = &definitions{
		accounts: make([]*events.AccountOpened, 0, len(accounts)),
		assets:   make([]*events.AssetRegistered, 0, len(assets)),
	}
	for _, n := range accounts {
		if d.account(n.id) != nil {
			continue
		}
		if account, ok := l.accounts.get(n.id); ok {
			d.accounts = append(d.accounts, account)
		} else if !slices.Contains(wanted.Accounts, n.id) {
			wanted.Accounts = append(wanted.Accounts, n.id)
		}
	}
	for _, n := range assets {
		if d.asset(n.id) != nil {
			continue
		}
		if asset, ok := l.assets.get(n.id); ok {
			d.assets = append(d.assets, asset)
		} else if !slices.Contains(wanted.Assets, n.id) {
			wanted.Assets = append(wanted.Assets, n.id)
		}
	}
	return d, wanted
}

// unknownCredits returns the pairs that r debits, as far as d tells its legs, of whose credits nothing was ever read. An
// account may turn out to have no limit: then they were read in vain, in the same request.
func (l *Ledger) unknownCredits(r PostingRequest, d *definitions) (pairs []Pair) {
	settled, _ := r.settlement()
	for _, leg := range r.legs(d.currency(settled)) {
		p := Pair{leg.Account, leg.Asset}
		if leg.Quantity.Sign() >= 0 || d.overdraft(p.Account).Unlimited || slices.Contains(pairs, p) {
			continue
		}
		if _, ok := l.credits.of(p); !ok {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// learn looks for what is wanted, and takes it into d and into memory.
func (l *Ledger) learn(ctx context.Context, wanted Wanted, d *definitions) error {
	found, err := l.look(ctx, wanted)
	if err != nil {
		return err
	}
	for _, id := range wanted.Accounts {
		if account, ok := found.Accounts[id]; ok {
			d.accounts = append(d.accounts, &account)
		}
	}
	for _, id := range wanted.Assets {
		if asset, ok := found.Assets[id]; ok {
			d.assets = append(d.assets, &asset)
		}
	}
	for _, p := range wanted.Credits {
		if account := d.account(p.Account); account != nil && !account.Overdraft.Unlimited {
			l.credits.raise(p, found.Credits[p]) // nothing projected: zero is a lower bound too, and saves the next look
		}
	}
	return nil
}

func (w Wanted) empty() bool { return len(w.Accounts)+len(w.Assets)+len(w.Credits) == 0 }
