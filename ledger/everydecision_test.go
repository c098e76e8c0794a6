package ledger

import (
	"flag"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
)

// without is a sentence of the clerk that is not checked. So .ci/gates shows that a mutant of the rules dies by the
// sentence that it breaks, and by no other.
var without = flag.String("without", "", "a sentence that the tests of all decisions and refusals do not check")

// An ask is a small request, in the clerk's words.
type ask struct {
	kind string // transfer, trade, postings, reversal, capture or release

	moves  []move // of a transaction: from and to, or buyer and seller
	settle bool
	hold   string // "" for none, week for no time of expiry; else see expiries
	date   string // "" for none; else see dates

	part part // of a reversal or a capture
}

type move struct {
	account, asset string
	quantity, cost int64
}

// part is what is taken of another transaction.
type part struct {
	form     string // "" for all, quantity or postings
	quantity int64
	costs    bool // cost is named
	cost     int64
	postings []int64 // quantities
}

// A world is what is stored and cached, as far as the clerk may ask for it.
type world struct {
	cached, stored [2]events.AccountState // of the accounts a and b: as cached, and as stored
	unlimited      [2]bool                // likewise
	lacks          string                 // what does not exist: a, b, asset or currency

	other    string  // what the request ends or reverses: transfer, trade or postings; "" if it does not exist
	hold     string  // of the other: "" if it was posted at once; else open, captured, released or expired
	reversed []int64 // what was reversed of it
	listed   bool    // by this request, first

	unknown bool // whether an earlier attempt may still be applied
}

var accountIDs = []string{"a", "b"}

// decidedAt is when all requests are decided. The other transaction was posted on the first day.
var decidedAt = events.Epoch().Add(49 * time.Hour)

var expiries = map[string]time.Time{
	"now": decidedAt, "soon": decidedAt.Add(time.Microsecond),
	"31 days": decidedAt.Add(31 * 24 * time.Hour), "later": decidedAt.Add(31*24*time.Hour + time.Microsecond),
}

var dates = map[string]time.Time{
	"before the other": events.Epoch().Add(time.Minute), "old": events.Epoch().Add(9 * time.Hour),
	"15 seconds ago": decidedAt.Add(-15 * time.Second), "recent": decidedAt.Add(-15*time.Second + time.Microsecond),
}

// request returns the request that is asked for. All have the id r, but those that end a hold.
func (a ask) request() Request {
	note := Annotation{ID: "r", Actor: "tester"}
	if at, ok := dates[a.date]; ok {
		note.EffectiveAt = &at
	}
	if a.hold != "" {
		note.Hold = &HoldRequest{}
		if at, ok := expiries[a.hold]; ok {
			note.Hold.ExpiresAt = &at
		}
	}
	n, m := events.NewAmount, a.moves
	switch a.kind {
	case "transfer":
		return PostTransfer{note, m[0].account, m[1].account, m[0].asset, n(m[1].quantity), nil}
	case "trade":
		return PostTrade{note, m[0].asset, m[0].account, m[1].account, n(m[0].quantity), n(m[0].cost), a.settle}
	case "reversal":
		return ReverseRequest{Annotation: note, Transaction: "t", Part: a.part.request()}
	case "capture":
		return CaptureRequest{Transaction: "t", Actor: "tester", Part: a.part.request()}
	case "release":
		return ReleaseRequest{Transaction: "t", Actor: "tester"}
	}
	posted := PostTransaction{Annotation: note}
	for _, m := range a.moves {
		posted.Postings = append(posted.Postings, LegRequest{m.account, m.asset, n(m.quantity), n(m.cost)})
	}
	return posted
}

func (p part) request() (r Part) {
	switch p.form {
	case "quantity":
		if r.Quantity = new(events.NewAmount(p.quantity)); p.costs {
			r.Cost = new(events.NewAmount(p.cost))
		}
	case "postings":
		for _, n := range p.postings {
			r.Postings = append(r.Postings, LegPart{Quantity: events.NewAmount(n)})
		}
	}
	return r
}

// read adds what a decision needs to its facts.
func (w world) read(missing need, p plan, k *facts) {
	switch missing.what {
	case needOther:
		k.other = w.lifecycle()
	case needNames:
		k.names = &definitions{}
		for _, leg := range p.moved {
			i := slices.Index(accountIDs, leg.Account)
			if w.lacks != leg.Account && k.names.account(leg.Account) == nil {
				k.names.accounts = append(k.names.accounts, w.account(i, w.cached[i]))
			}
		}
		if currency := "USD"; w.lacks != "asset" {
			if w.lacks == "currency" {
				currency = ""
			}
			k.names.assets = []events.AssetRegistered{{ID: "X", Currency: currency}}
		}
	case needAccounts:
		k.anew = &definitions{}
		for _, id := range missing.accounts {
			i := slices.Index(accountIDs, id)
			k.anew.accounts = append(k.anew.accounts, w.account(i, w.stored[i]))
		}
	case needClock:
		k.sound = true
	}
}

func (w world) account(i int, s events.AccountState) Account {
	return Account{ID: accountIDs[i], State: s, Overdraft: events.Overdraft{Unlimited: w.unlimited[i]}, Version: 1}
}

// lifecycle returns the other transaction, as it is stored.
func (w world) lifecycle() *Lifecycle {
	l := &Lifecycle{}
	if w.other == "" {
		return l
	}
	legs := func(moves []move, from time.Duration) (all []events.Leg) {
		for i, m := range moves {
			all = append(all, events.Leg{
				ID: events.FirstKSUID(events.Epoch().Add(from + time.Duration(i)*time.Second)), Account: m.account,
				Asset: m.asset, Quantity: events.NewAmount(m.quantity), Cost: events.NewAmount(m.cost),
			})
		}
		return all
	}
	kinds := map[string]events.Kind{
		"transfer": events.KindTransfer, "trade": events.KindTrade, "postings": events.KindTransaction,
	}
	l.Header = events.TransactionPosted{
		ID: "t", Kind: kinds[w.other], Legs: legs(w.placed(), time.Hour),
	}
	if w.hold != "" {
		l.Header.ExpiresAt = decidedAt.Add(time.Hour)
	}
	outcomes := map[string]events.Outcome{
		"captured": events.OutcomeCaptured, "released": events.OutcomeReleased, "expired": events.OutcomeExpired,
	}
	if outcome, ended := outcomes[w.hold]; ended {
		l.Ended = &events.HoldEnded{Transaction: "t", Outcome: outcome, Legs: legs(w.posted(), 2*time.Hour)}
	}
	for i, n := range w.reversed {
		r := events.TransactionReversed{Transaction: "t", Number: int64(i) + 1, By: "someone's"}
		if w.listed && i == 0 {
			r.By = "r"
		}
		for _, m := range w.share(n, 0) {
			r.Taken = append(r.Taken, events.Taken{Quantity: events.NewAmount(m.quantity)})
		}
		l.Reversals = append(l.Reversals, r)
	}
	return l
}

// Every small request is decided in every small world as the clerk says: it needs the same things, in the same order
// and each once, and then it is planned or refused in the same way.
func TestEveryDecision(t *testing.T) {
	decided, because := 0, map[string]int{}
	for _, some := range everyPairing() {
		for _, a := range some.asks {
			d := a.request().expand()
			if faults := d.shape(); faults != nil {
				t.Fatalf("%+v: %v", a, faults)
			}
			for _, w := range some.worlds {
				decided++
				because[decideOnce(t, a, &d, w)]++
			}
		}
	}
	if t.Log(decided, because); len(because) != 20 {
		t.Errorf("%d of the clerk's sentences decide something, not 20", len(because))
	}
}

// decideOnce decides a request in a world, and compares with what the clerk says. A refusal needs no plan, except that of
// a hold's end: the hold may have ended before. It returns the clerk's last sentence.
func decideOnce(t *testing.T, a ask, d *draft, w world) string {
	k, got := facts{now: decidedAt, unknown: w.unknown}, verdict{}
	var p plan
	var refused *Error
	for len(got.needs) > len(got.needed()) {
		var missing need
		if p, missing, refused = decide(d, &k); missing.what == needNothing {
			break
		}
		got.needs[len(got.needed())] = missing.what
		for _, id := range missing.accounts {
			got.anew[slices.Index(accountIDs, id)] = true
		}
		w.read(missing, p, &k)
	}
	got.note(d, p, refused)
	c := clerk{ask: a, world: w}
	c.decide()
	if isLate := d.endsHold() && (got.code == CodeExceedsHold || got.code == CodeCostRequired); got.code != "" && !isLate {
		got.planned, c.planned = planned{}, planned{}
	}
	if !c.skipped && got != c.verdict {
		t.Fatalf("request %+v\nworld %+v\ngot  %+v\nwant %+v, because %s", a, w, got, c.verdict, c.because)
	}
	return c.because
}

// A verdict is how a request is decided.
type verdict struct {
	needs [4]what // in their order
	anew  [2]bool // the accounts that are read anew
	code  Code
	about string // the account whose state refuses the request
	planned
}

// planned is a plan, as far as it follows from the request and the world.
type planned struct {
	legs    [4]events.Leg // without KSUIDs; of the transaction
	taken   [4]events.Taken
	number  int64     // of a reversal
	expires time.Time // of a hold that is placed
	listed  bool
	ended   bool // the hold has ended
}

// needed returns the needs so far.
func (v *verdict) needed() []what {
	n := 0
	for n < len(v.needs) && v.needs[n] != needNothing {
		n++
	}
	return v.needs[:n]
}

// note notes what was decided.
func (v *verdict) note(d *draft, p plan, refused *Error) {
	if refused != nil {
		if v.code = refused.Code; v.code == CodeAccountFrozen || v.code == CodeAccountClosed {
			v.about = refused.Account
		}
	}
	copy(v.taken[:], p.taken)
	v.number, v.listed, v.ended = p.reversal, p.listed, p.ended != nil
	if !d.endsHold() {
		copy(v.legs[:], p.header.Legs)
		v.expires = p.header.ExpiresAt
	}
}
