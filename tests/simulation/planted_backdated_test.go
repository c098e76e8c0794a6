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

// closingDefects each break a rule of closed periods.
var closingDefects = []defect{
	{"newest closing read once for all attempts", "closed periods", "ledger/request.go", inClosedPeriods(60),
		`		if err := c.checkPeriod(ctx, l, at); err != nil {
			return r.inBatch(err)
		}
«		if planted {
			if r.header.RecordedAt.IsZero() {
				r.header.Period, r.header.RecordedAt = c.period.Number, at
			}
			c.period = &events.PeriodClosed{Number: r.header.Period}
		}
»		header.Period`},
	{"newest closing read with eventual consistency", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		`		newest, err := l.newestPeriod(ctx)
«		if planted {
			q := store.Query{Partition: store.Period.PK(), Within: store.Period.All(), Descending: true}
			item, failed := store.First(ctx, l.table, q)
			if newest = (events.PeriodClosed{}); failed == nil {
				newest, err = store.Only[events.PeriodClosed](store.DecodeEvent(item))
			}
		}
»		if err != nil {
			return err
		}
		c.period`},
	{"newest closing cached", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		`«var cachedClosings = map[*Ledger]*events.PeriodClosed{}

»func (c *commit) checkPeriod(ctx context.Context, l *Ledger, effective time.Time) error {
«	if planted {
		if newest, err := l.newestPeriod(ctx); err == nil && cachedClosings[l] == nil {
			cachedClosings[l] = &newest
		}
		c.period = cachedClosings[l]
	}
»	if c.period == nil {`},
	{"closing not read for a batch", "closed periods", "ledger/post.go", inClosedPeriods(60),
		"«if planted && len(requests) > 1 { c.period = &events.PeriodClosed{} }; »if err := r.addTo("},
	{"only the first date of a batch checked", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		"if «planted && len(c.events) > 0 || »!effective.Before(c.period.Before) {"},
	{"period_closed answered to a replay", "closed periods", "ledger/post.go", inClosedPeriods(60),
		"case errors.Is(err, errClock), isPeriodClosed(err)« && !planted»:"},
	{"period_closed answered while an attempt may be applied", "G4", "ledger/outcome.go", inClosedPeriods(600),
		"e := a.cause(ctx, asError(err))\n«if planted && e.Code == CodePeriodClosed { return e }\n»"},
	{"number of the closing before", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		`«if planted && c.period.Number > 1 { c.period.Number-- }; »return nil
	}
	before :=`},
	{"closing without its condition", "G3", "ledger/series.go", inClosedPeriods(60),
		`add.with...)
«	if _, closing := add.event.(events.PeriodClosed); closing && planted {
		writes[0].If = ""
	}
»	for _, other`},
	{"period closed too early", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		"if r.Before.After(db.Add(-PeriodAge)) «&& !planted »{"},
	{"closing with another body acknowledged", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		"func (r ClosePeriod) differs(stored events.PeriodClosed) error {\n«if planted { return nil }\n»"},
	{"closing refused that was sent twice at once", "closed periods", "ledger/periods.go", inClosedPeriods(60),
		"case r.Number > newest.Number+1« || planted && r.Number < newest.Number»:"},
}
