package ledger

import (
	"log/slog"
	"slices"
	"testing"

	"ledger.example/events"
)

// A purse is an account in USD when guards judge an attempt, and what the command knows of it.
type purse struct {
	stands         []stand // by version, from 1
	knows          int     // the version that the command knows
	guard          int     // the version that the guard has, 0 for none
	credits, known int64   // what was credited, and what the command knows of that
	spent          int64   // by the guard
	hidden         int64   // of what was spent, when the exact credits are read
}

// stand is what a version of an account says.
type stand struct {
	state     events.AccountState
	overdraft int64
}

// A commit has requests that are written together: those of an atomic batch, or independent ones.
type written struct {
	requests []posts
	joint    bool
}

// posts is one request of a commit.
type posts struct {
	debits, credits [2]int64 // of the accounts a and b
	reverses        bool
	holds           bool // its credits are not posted yet
	backdated       bool // its credits are not projected yet
}

// later is what changes while the refusals are read for.
type later struct {
	others  bool   // other commands read the credits as they were at the refusals
	grows   int64  // credits, before the exact ones are read
	hides   int64  // of what was spent, when they are read
	changes *stand // of both accounts, before they are read; nil for none
}

func (p purse) newest() int { return len(p.stands) }

// overdraft returns that of a version: a closed account has none.
func (p purse) overdraft(version int) int64 {
	if s := p.stands[version-1]; s.state != events.StateClosed {
		return s.overdraft
	}
	return 0
}

func (p purse) account(id string, version int) Account {
	s, most := p.stands[version-1], int64(0)
	for _, earlier := range p.stands[:version] {
		most = max(most, earlier.overdraft)
	}
	amounts := func(n int64) map[string]events.Amount { return map[string]events.Amount{"USD": events.NewAmount(n)} }
	return Account{
		ID: id, State: s.state, Version: int64(version), highest: amounts(most),
		Overdraft: events.Overdraft{Limits: amounts(s.overdraft)},
	}
}

// attempts returns the attempts with the limits that a command sends.
func (c written) attempts(purses []purse) *attempts {
	a := &attempts{ledger: &Ledger{log: slog.New(slog.DiscardHandler)}, joint: c.joint}
	known := &definitions{}
	for i, p := range purses {
		known.accounts = append(known.accounts, p.account(accountIDs[i], p.knows))
	}
	for n, one := range c.requests {
		r := &request{plan: plan{known: known}}
		if len(c.requests) > 1 && !c.joint {
			r.number = n + 1
		}
		if r.kind = events.KindTransaction; one.reverses {
			r.kind = events.KindReversal
		}
		if one.holds {
			r.header.ExpiresAt = decidedAt
		}
		if one.backdated {
			r.EffectiveAt = &decidedAt
		}
		for i := range purses {
			for _, quantity := range []int64{-one.debits[i], one.credits[i]} {
				leg := events.Leg{Account: accountIDs[i], Asset: "USD", Quantity: events.NewAmount(quantity)}
				if quantity != 0 {
					r.header.Legs = append(r.header.Legs, leg)
				}
			}
		}
		a.pending = append(a.pending, r)
	}
	a.setLimits()
	for _, l := range a.limits {
		p := purses[slices.Index(accountIDs, l.pair.Account)]
		l.raise(events.NewAmount(p.known))
		l.guard = guard{pair: l.pair, version: int64(p.guard), spent: events.NewAmount(p.spent)}
	}
	return a
}

// Every attempt that guards refuse is judged as the referee says, whatever changes between the reads.
func TestEveryRefusal(t *testing.T) {
	judged, ends := 0, map[step]int{}
	for _, some := range everyContest() {
		for _, c := range some.commits {
			for _, purses := range some.purses {
				ref := referee{written: c, purses: purses}
				if c.joint && *without == isApart || !ref.agrees(t, c.attempts(purses)) {
					continue
				}
				for _, l := range everyLater {
					for _, partial := range []int{4, 5} {
						judged++
						end := judgeOnce(t, c, purses, l, partial)
						if ends[end]++; end != stepRetryPartial {
							break
						}
					}
				}
			}
		}
	}
	t.Log(judged, ends)
}

// judgeOnce judges the refusals of an attempt until they mean something, and compares with what the referee says.
func judgeOnce(t *testing.T, c written, before []purse, l later, partial int) step {
	t.Helper()
	ref := referee{written: c, purses: slices.Clone(before)}
	a := c.attempts(before)
	var refused []*limit
	for _, l := range a.limits {
		if i := slices.Index(accountIDs, l.pair.Account); ref.isRefused(i) {
			refused, ref.refused = append(refused, l), append(ref.refused, i)
		}
	}
	for seen := (findings{partial: partial}); ; {
		got := judge(refused, seen)
		want := ref.next(seen)
		if got != want {
			if ref.because == *without {
				return want
			}
			t.Fatalf("step %d, want %d, because %s\ncommit %+v\npurses %+v\nseen %+v, later %+v", got, want, ref.because, c,
				ref.purses, seen, l)
		}
		switch got {
		case stepAwait:
			seen.others = true
			ref.reads(l.others)
		case stepExact:
			seen.exact = true
			ref.grow(l.grows)
			ref.hide(l.hides)
			ref.reads(true)
		case stepAccounts:
			seen.accounts = true
			ref.change(l.changes)
			for _, l := range refused {
				i := slices.Index(accountIDs, l.pair.Account)
				l.setAccount(ref.purses[i].account(l.pair.Account, ref.purses[i].knows))
			}
		case stepRefuse:
			a.setShort(t.Context(), refused)
			ref.checkRefusal(t, a)
			return got
		default:
			return got
		}
		for _, l := range refused {
			p := ref.purses[slices.Index(accountIDs, l.pair.Account)]
			l.raise(events.NewAmount(p.known))
			l.found = events.NewAmount(p.spent - p.hidden)
		}
	}
}

// A contest has commits, and purses with each of which each of them is tried.
type contest struct {
	commits []written
	purses  [][]purse
}

// everyLater is what may change. A new version has a limit that covers everything, or lets nobody debit.
var everyLater = func() (all []later) {
	for _, others := range both {
		for _, exact := range [][2]int64{{0, 0}, {1, 0}, {0, 1}} {
			for _, changes := range []*stand{nil, {events.StateOpen, 9}, {events.StateFrozen, 0}} {
				all = append(all, later{others, exact[0], exact[1], changes})
			}
		}
	}
	return all
}()

func everyContest() []contest {
	debit := func(n int64) posts { return posts{debits: [2]int64{n}} }
	credit := func(n int64) posts { return posts{credits: [2]int64{n}} }
	moves := func(debit, credit int64) posts { return posts{debits: [2]int64{debit}, credits: [2]int64{credit}} }
	reversal, hold, old := debit(1), moves(2, 1), moves(2, 1)
	reversal.reverses, hold.holds, old.backdated = true, true, true
	oldCredit := credit(2)
	oldCredit.backdated = true
	one := []written{
		{[]posts{debit(1), debit(1)}, true}, {[]posts{moves(2, 1), debit(1)}, true},
		{[]posts{moves(1, 2), debit(2)}, true}, {[]posts{credit(2), debit(1)}, true},
		{requests: []posts{debit(1)}}, {requests: []posts{debit(2)}}, {requests: []posts{reversal}},
		{requests: []posts{moves(2, 1)}}, {requests: []posts{hold}}, {requests: []posts{old}},
		{requests: []posts{debit(1), debit(1)}}, {requests: []posts{credit(1), debit(2)}},
		{requests: []posts{debit(2), credit(1)}}, {requests: []posts{debit(2), credit(1), debit(1)}},
		{requests: []posts{reversal, debit(1)}}, {requests: []posts{reversal, reversal}},
		{requests: []posts{oldCredit, debit(1)}},
	}
	b := posts{debits: [2]int64{0, 1}}
	two := []written{
		{requests: []posts{{debits: [2]int64{1, 1}}}}, {requests: []posts{debit(1), b}}, {requests: []posts{b, debit(1)}},
		{requests: []posts{{debits: [2]int64{1, 0}, credits: [2]int64{0, 1}}, {debits: [2]int64{0, 2}}}},
		{[]posts{debit(1), b}, true},
	}
	var alone, pairs [][]purse
	for _, p := range everyPurse() {
		alone = append(alone, []purse{p})
	}
	for _, p := range somePurses {
		for _, q := range somePurses {
			pairs = append(pairs, []purse{p, q})
		}
	}
	return []contest{{one, alone}, {two, pairs}}
}

func everyPurse() (all []purse) {
	for overdraft := range int64(2) {
		for _, stands := range [][]stand{
			{}, {{events.StateOpen, 0}}, {{events.StateOpen, 2}}, {{events.StateFrozen, 1}}, {{events.StateClosed, 1}},
		} {
			p := purse{stands: append([]stand{{events.StateOpen, overdraft}}, stands...)}
			for p.knows = 1; p.knows <= p.newest(); p.knows++ {
				for p.guard = range p.newest() + 1 {
					for p.spent = range int64(4) {
						for p.credits = range int64(3) {
							for p.known = range p.credits + 1 {
								all = append(all, p)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// somePurses are covered, perhaps covered, not covered, below the limit, without a guard, changed, frozen and closed.
var somePurses = func() []purse {
	open := []stand{{events.StateOpen, 0}}
	then := func(s events.AccountState, overdraft int64) []stand {
		return append(slices.Clip(open), stand{s, overdraft})
	}
	return []purse{
		{open, 1, 1, 2, 2, 0, 0}, {open, 1, 1, 2, 0, 1, 0}, {open, 1, 1, 1, 1, 1, 0}, {open, 1, 1, 0, 0, 2, 0},
		{open, 1, 0, 1, 1, 0, 0},
		{then(events.StateOpen, 2), 1, 1, 1, 1, 1, 0}, {then(events.StateOpen, 2), 1, 2, 1, 1, 1, 0},
		{then(events.StateOpen, 2), 2, 1, 1, 1, 1, 0}, {then(events.StateFrozen, 0), 2, 2, 2, 2, 0, 0},
		{then(events.StateFrozen, 0), 1, 1, 2, 0, 1, 0}, {then(events.StateClosed, 1), 2, 2, 1, 1, 1, 0},
	}
}()
