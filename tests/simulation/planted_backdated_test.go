package simulation

// backdatedDefects each break a part of the rule that a backdated posting counts once the seal is past it.
var backdatedDefects = []defect{
	{"backdated credit spent by its transaction", "G7", "ledger/limits.go", inHistories(60),
		"case r.EffectiveAt != nil« && !planted»:"},
	{"backdated credit spent in its batch", "G7", "ledger/limits.go",
		directed("ledger", "TestBackdatedCreditsRaiseNoBound"),
		`«if planted && r.EffectiveAt != nil {
			for _, leg := range r.header.Legs {
				if leg.Account == pair.Account && leg.Asset == pair.Asset && leg.Quantity.Sign() > 0 {
					net = addSaturating(net, leg.Quantity)
				}
			}
		}
		»running = addSaturating(running, net)`},
	{"effective date of now", "G7", "ledger/periods.go", inHistories(60),
		"now.Sub(effective) >= EffectiveAge« || planted && effective.Before(now)» }"},
	{"backdated postings shown before they are projected", "G7", "projections/reader.go", inHistories(60),
		"return «planted || »!p.Backdated }"},
	{"backdated credits are funds before they are projected", "G7", "projections/reader.go", inHistories(60),
		`«	if planted {
		b, _, err := r.views.Balance(ctx, events.Pair{Account: account, Asset: asset})
		if err != nil {
			return events.Amount{}, err
		}
		f, _, err := r.views.FoldOn(ctx, b.Pair, b.Seal, "")
		if err != nil {
			return events.Amount{}, err
		}
		return f.Funds()
	}
»	b, err := r.read(ctx, events.Pair{Account: account, Asset: asset})`},
	{"backdated posting counted before it is settled", "G7", "projections/balance.go", inHistories(60),
		"case p.Backdated« && !planted»:"},
	{"backdated posting counted from the cache above the seal", "G7", "projections/cache.go", inHistories(60),
		`Figures: *d.figures})«
		e.above[at].Backdated = e.above[at].Backdated && !planted»`},
	{"rebuild in steps moves the seal back", "G7", "projections/repair/balance.go",
		directed("projections/repair", "TestRebuildKeepsBackdatedPostingsShown"),
		"if s.Through <= r.stored.Seal.Through «&& !planted »{"},
}
