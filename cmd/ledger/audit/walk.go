package audit

import (
	"context"
	"errors"
	"time"

	"ledger.example/ledger/table"
)

// walk compares all that is projected of an account, and its guards, with its postings and grants. What looks wrong is
// examined by itself.
func (a *Audit) walk(ctx context.Context, of account) error {
	p, err := a.open(ctx, of.id)
	if err != nil {
		return err
	}
	var shown, counted summary // by the balances as they are stored, and by their postings
	unreadable := false
	for {
		asset, err := least(ctx, p.balances, p.segments, p.postings, p.guards)
		if err != nil {
			return err
		}
		if asset == "" {
			break
		}
		b, result, err := a.walkPair(ctx, of, asset, &p)
		switch {
		case errors.Is(err, errUnreadable):
			unreadable = true
			continue
		case err != nil:
			return err
		}
		shown.add(b.head, b.first)
		counted.add(result.total, result.first)
		if len(result.issues) > 0 {
			if err := a.examine(ctx, of, asset); err != nil {
				return err
			}
		} else if result.tail {
			a.counts.unsettled.Add(1)
		}
	}
	if !unreadable {
		if err := a.summaryOf(ctx, of.id, p.summary, shown, counted); err != nil {
			return err
		}
	}
	return a.walkMembers(ctx, of.id, &p)
}

// walkPair compares the next pair of a partition, and takes all of it.
func (a *Audit) walkPair(ctx context.Context, of account, asset string, p *partition) (b balance, result compared, err error) {
	defer func() {
		for _, f := range []*family{p.balances, p.segments, p.postings, p.guards} {
			if dropped := drop(ctx, f.take(asset)); err == nil {
				err = dropped
			}
		}
	}()
	storedBalance, err := p.balances.take(asset)(ctx)
	if err != nil {
		return b, result, err
	}
	storedGuard, err := p.guards.take(asset)(ctx)
	if err != nil {
		return b, result, err
	}
	pair, err := a.pairOf(of, asset, storedBalance, storedGuard)
	if err != nil {
		return b, result, err
	}
	pair.segments, pair.postings = p.segments.take(asset), p.postings.take(asset)
	result, err = compare(ctx, pair)
	return pair.balance, result, err
}

func drop(ctx context.Context, next func(context.Context) (attributes, error)) error {
	for {
		item, err := next(ctx)
		if item == nil || err != nil {
			return err
		}
	}
}

// add counts one balance: an asset of its account once it has a posting.
func (s *summary) add(head fold, first string) {
	if head.count == 0 {
		return
	}
	s.assets++
	if head.quantity().Sign() != 0 {
		s.holdings++
	}
	if s.first == "" || first < s.first {
		s.first = first
	}
}

func (s summary) same(t summary) bool {
	return s.assets == t.assets && s.holdings == t.holdings && s.first == t.first
}

const (
	summaryRounds = 6
	summaryPause  = 200 * time.Millisecond
)

// summaryOf compares a summary with what the balances show, or with their postings if one of them is wrong. It changes in
// one transaction with them, but they are read one after the other.
func (a *Audit) summaryOf(ctx context.Context, account string, item attributes, shown, counted summary) error {
	for round := 1; ; round++ {
		stored, ok := as[summary](item)
		switch {
		case !ok && len(item) > 0:
			return nil // the scan tells of it
		case stored.same(shown), stored.same(counted):
			return nil
		}
		most, pause := a.rounds(summaryRounds, summaryPause)
		if round > most {
			text := absent
			if ok {
				text = stored.String()
			}
			a.report(Finding{Code: SummaryWrong, Key: table.SummaryKey(account), Stored: text, Recomputed: shown.String()})
			return nil
		}
		if err := a.Pause(ctx, time.Duration(round-1)*pause); err != nil {
			return err
		}
		// While the balances are read, the summary must stay what it is.
		for quiet := 1; ; quiet++ {
			before, err := a.get(ctx, table.SummaryKey(account))
			if err != nil {
				return err
			}
			if shown, err = a.shown(ctx, account); err != nil {
				return unlessUnreadable(err)
			}
			if item, err = a.get(ctx, table.SummaryKey(account)); err != nil {
				return err
			}
			was, _ := as[summary](before)
			if is, _ := as[summary](item); is.version == was.version {
				break
			}
			if quiet == pairRounds {
				a.counts.unsettled.Add(1)
				return nil
			}
		}
	}
}

// shown counts an account's balances as they are stored.
func (a *Audit) shown(ctx context.Context, account string) (summary, error) {
	var s summary
	all := stream{audit: a, of: stretch{partition: table.AccountKey(account).PK, within: table.BalancesRange("")}}
	for {
		item, err := all.peek(ctx)
		if item == nil || err != nil {
			return s, err
		}
		all.next()
		b, ok := as[balance](item)
		if !ok {
			return s, errUnreadable
		}
		s.add(b.head, b.first)
	}
}
