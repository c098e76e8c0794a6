package projections_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// rebuilder rebuilds what the history's balances are, again and again, beside everything else: first what nobody hurt, which
// it must leave whole at every step; then, when hurt is not 0, it does that much damage, and mends it.
func (w *world) rebuilder(hurt int) {
	c := &client{Memory: w.store, w: w}
	p := projections.NewProjector(c, c.clock, slog.New(slog.DiscardHandler))
	p.Shrink(projections.SettleWindow, w.stretch, w.segments, w.settled)
	p.Pause(w.pause)
	for range 1 + w.rng.IntN(3) {
		for range w.rng.IntN(200) {
			w.yield()
		}
		if !w.rebuild(p) {
			return
		}
	}
	for w.committing > 0 { // nobody's damage, but of what is stored
		if w.yield(); w.stopping {
			return
		}
	}
	if hurt == 0 {
		return
	}
	w.hurt = true
	w.wounds++
	for range hurt {
		w.damage(keys[w.rng.IntN(len(keys))])
	}
	for range w.rng.IntN(100) {
		w.yield()
	}
	if w.rebuild(p) {
		w.hurt = false
		w.stats.mended++
		clear(w.shown)
		w.sound()
	}
}

// rebuild tells whether it was done before the history ended. Where others keep coming first, an operator does it again.
func (w *world) rebuild(p *projections.Projector) bool {
	accounts := []string{"jane", "shop"}
	for len(accounts) > 0 {
		account, done, again := accounts[0], true, false
		err := p.RebuildAccount(context.Background(), account, "", false, func(part projections.Part) {
			if errors.Is(part.Err, table.ErrConflict) {
				again = true
				w.stats.given++
			} else if part.Err != nil {
				done = false
				if !errors.Is(part.Err, errDead) {
					w.err = part.Err
				}
			}
		})
		if err != nil || !done {
			return false
		}
		if !again {
			accounts = accounts[1:]
		}
	}
	return true
}

// hurting returns a function that tells whether anything was damaged between the two calls, or is.
func (w *world) hurting() func() bool {
	hurt, wounds := w.hurt, w.wounds
	return func() bool { return hurt || w.wounds != wounds }
}

// damage makes something of a pair wrong, under the version that it has.
func (w *world) damage(k projections.Key) {
	hurt, b, segments := w.store.Damage(), w.balance(k), w.store.Segments(k)
	there := b.Version > 0
	b.Version = max(1, b.Version)
	f := projections.Fold{Through: b.Seal.Through, Credits: events.NewAmount(int64(w.rng.IntN(5))), Count: int64(w.rng.IntN(5))}
	if b.Seal.Count > 0 {
		f.Count += b.Seal.Count - 2
	}
	switch n := w.rng.IntN(11); {
	case n == 0:
		b.Seal = f
		hurt.Balance(b)
	case n == 1:
		b.Head.Count++
		hurt.Balance(b)
	case n == 2:
		b.Base.Count++
		hurt.Balance(b)
	case n == 3: // as one that was lost, but for writes that are under way on its versions
		hurt.Balance(projections.Balance{Key: k, Version: b.Version + 1000})
	case n == 4 && there:
		hurt.Spoil(table.BalanceKey(k.Account, k.Asset))
	case n == 5:
		hurt.Summary(projections.Summary{Account: k.Account, Version: 1000, Assets: 9})
	case n == 6 && len(w.posted[k]) > 1:
		p := w.posted[k][w.rng.IntN(len(w.posted[k]))]
		if p.ID < events.FirstKSUID(w.storeTime().Add(-projections.SettleWindow)) {
			f.Through = p.ID
			hurt.Segment(projections.Segment{Key: k, Fold: f})
		}
	case len(segments) > 0:
		s := segments[w.rng.IntN(len(segments))]
		switch n % 4 {
		case 0:
			hurt.LoseSegment(s)
		case 1:
			s.Count++
			hurt.Segment(s)
		case 2:
			s.After = s.Through
			hurt.Segment(s)
		case 3:
			hurt.Spoil(table.SegmentKey(s.Account, s.Asset, string(s.Through)))
		}
	}
}

// rebuildsRun is how many histories are run beside a rebuild; HISTORIES and FIRST run others.
const rebuildsRun = 100

// Beside commands, strong reads and projectors, a rebuild of what is right leaves every rule whole at every step, and a rebuild of what
// was damaged leaves everything exact.
func TestRebuildBesideEverything(t *testing.T) {
	t.Parallel()
	var total stats
	first := number(t, "FIRST", 0)
	for seed := first; seed < first+number(t, "HISTORIES", rebuildsRun); seed++ {
		s, err := historyWith(seed, "", int(seed%5))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total.add(s)
	}
	t.Logf("%+v", total)
	if total.mended == 0 {
		t.Error("nothing was mended")
	}
}
