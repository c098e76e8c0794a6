package simulation

import (
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// maxPosts is the most posts that each move a different power of two. Their sum stays below 2^63.
const maxPosts = 48

// postsOnly adds posts that each move 2^e of an asset, with a different e.
func (g *generator) postsOnly() {
	if g.knobs.earlySpends {
		g.spendEarly()
		return
	}
	for _, e := range g.Perm(maxPosts)[:3+g.IntN(maxPosts-2)] {
		g.postAny(events.NewAmount(1<<e), g.between(0, g.knobs.span))
	}
}

// spendEarly adds credits of jane's account. After many of them, the caller spends a part, at once or a little later.
// Those with an effective date may not be spent before they are projected.
func (g *generator) spendEarly() {
	for e := 2; e < maxPosts; e += 2 {
		begin := g.between(0, g.knobs.span)
		credit := g.transfer(bank, jane, usd, events.NewAmount(1<<e), begin)
		switch g.IntN(4) {
		case 0, 1:
			g.spendAfter(credit, jane, usd, events.NewAmount(1<<(e-1)))
		case 2:
			g.transfer(jane, bank, usd, events.NewAmount(1<<(e-1)), begin+g.seconds(5))
		}
	}
}

// postAny adds a transaction of a random kind.
func (g *generator) postAny(quantity events.Amount, begin time.Duration) {
	two := g.Perm(len(accountIDs))
	from, to := accountIDs[two[0]], accountIDs[two[1]]
	if g.knobs.onePair && g.chance(.8) {
		g.transfer(bank, jane, usd, quantity, begin)
		return
	}
	kind := g.IntN(8)
	if g.knobs.mostlySpends && g.chance(.6) {
		kind = 2
	}
	switch kind {
	case 0, 1: // the bank funds an account
		g.transfer(bank, pick(g.dice, jane, jane, joe), pick(g.dice, usd, usd, aapl), quantity, begin)
	case 2, 3: // an account spends
		g.transfer(pick(g.dice, jane, jane, joe), pick(g.dice, bank, shop), pick(g.dice, usd, usd, aapl), quantity,
			begin)
	case 4:
		g.transfer(from, to, pick(g.dice, usd, aapl), quantity, begin)
	case 5:
		g.trade(begin, from, to, quantity, quantity, g.chance(.7))
	case 6: // jane is credited and debited in the same transaction
		g.transaction(begin, legOf(bank, usd, quantity.Neg()), legOf(jane, usd, quantity),
			legOf(jane, usd, quantity.Neg()), legOf(joe, usd, quantity))
	case 7: // two assets, with costs
		g.transaction(begin, ledger.LegRequest{Account: from, Asset: aapl, Quantity: quantity, Cost: quantity},
			ledger.LegRequest{Account: to, Asset: aapl, Quantity: quantity.Neg(), Cost: quantity.Neg()},
			legOf(from, usd, quantity.Neg()), legOf(to, usd, quantity))
	}
}

// hold adds a hold of a random kind.
func (g *generator) hold(begin, expires time.Duration) *operation {
	from, to := jane, pick(g.dice, joe, bank)
	if g.chance(.5) {
		from, to = joe, pick(g.dice, jane, shop)
	}
	asset, quantity := pick(g.dice, usd, aapl), g.amount(2, 90)
	switch g.IntN(4) {
	case 0: // the payer is also credited, as with change
		back := g.amount(1, int(int64Of(quantity)))
		rest, _ := quantity.Sub(back)
		return g.transaction(begin, legOf(from, asset, quantity.Neg()), legOf(from, asset, back),
			legOf(to, asset, rest)).asHold(expires)
	case 1: // an order to trade
		return g.trade(begin, from, to, quantity, g.amount(1, 60), true).asHold(expires)
	}
	return g.transfer(from, to, asset, quantity, begin).asHold(expires)
}

func (g *generator) fund(most float64) {
	g.transfer(bank, pick(g.dice, jane, joe), pick(g.dice, usd, aapl), g.amount(20, 160), g.seconds(most))
}

func (g *generator) mixed() {
	for range 2 + g.IntN(5) {
		g.fund(pick(g.dice, 0., 20, 20))
	}
	var plain []*operation
	for range 1 + g.IntN(6) {
		from := pick(g.dice, jane, joe)
		to := pick(g.dice, slices.DeleteFunc([]string{jane, joe, bank}, func(to string) bool { return to == from })...)
		plain = append(plain, g.transfer(from, to, pick(g.dice, usd, aapl), g.amount(1, 90), g.seconds(30)))
	}
	for range 1 + g.IntN(4) {
		hold := g.hold(g.seconds(25), pick(g.dice, 8*time.Second, 12*time.Second, 20*time.Second, 200*time.Second, 0))
		for range g.IntN(3) {
			later := hold.begin + g.seconds(pick(g.dice, 3., 3, 10, 25))
			if g.chance(.4) {
				g.release(hold, later)
			} else {
				g.capture(hold, later)
			}
		}
		plain = append(plain, hold)
	}
	for _, of := range plain {
		for range pick(g.dice, 0, 0, 0, 1, 2, 3) {
			part := ledger.Part{}
			if g.chance(.6) {
				part = g.partOf(of)
			}
			g.reverse(of, part, g.seconds(35))
		}
	}
	for range g.IntN(4) {
		g.changeAny(pick(g.dice, jane, joe), g.seconds(30))
	}
	if g.chance(.15) {
		g.closeAccount(pick(g.dice, jane, joe), g.seconds(40))
	}
	for range g.IntN(3) {
		g.costAlone(pick(g.dice, jane, joe), pick(g.dice, bank, shop), g.seconds(35))
	}
	for range g.IntN(4) {
		g.fits(pick(g.dice, jane, joe), g.seconds(35))
	}
}

// costAlone adds transactions of a cost without a quantity: one that gives it to an account and, perhaps, its reversal;
// and one that takes it from the account.
func (g *generator) costAlone(account, other string, begin time.Duration) {
	cost := g.amount(1, 40)
	legs := func(from, to string) []ledger.LegRequest {
		return []ledger.LegRequest{{Account: from, Asset: aapl, Cost: cost.Neg()}, {Account: to, Asset: aapl, Cost: cost}}
	}
	given := g.transaction(begin, legs(other, account)...)
	if g.chance(.5) {
		g.reverse(given, ledger.Part{}, begin+g.seconds(12))
	}
	g.transaction(begin+g.seconds(8), legs(account, other)...)
}

// releasing adds holds of everything that an account has. They are released or captured in part, and the first caller
// whose call is acknowledged spends what the hold gave back.
func (g *generator) releasing() {
	for _, account := range []string{jane, joe}[:1+g.IntN(2)] {
		asset, quantity := pick(g.dice, usd, aapl), g.amount(10, 90)
		if account == joe {
			asset = aapl // without an overdraft
		}
		g.transfer(bank, account, asset, quantity, 0)
		hold := g.transfer(account, bank, asset, quantity, 8*time.Second).asHold(pick(g.dice, 200*time.Second, 0))
		for range g.IntN(3) { // these fail while the hold is open
			g.transfer(account, bank, asset, g.amount(1, 1+int(int64Of(quantity))), 10*time.Second+g.seconds(10))
		}
		for range 1 + g.IntN(3) {
			end := g.release(hold, 14*time.Second+g.seconds(3))
			back := quantity
			if g.chance(.3) {
				end = g.capture(hold, 14*time.Second+g.seconds(3))
				if end.part.Quantity != nil {
					back, _ = quantity.Sub(*end.part.Quantity)
				}
			}
			if back.Sign() > 0 {
				g.spendAfter(end, account, asset, back)
			}
		}
	}
}

// expiring adds holds that are captured and released around the time at which they expire.
func (g *generator) expiring() {
	for range 2 + g.IntN(4) {
		account, asset, quantity := pick(g.dice, jane, joe), aapl, g.amount(10, 90)
		g.transfer(bank, account, asset, quantity, g.seconds(3))
		begin, open := 4*time.Second+g.seconds(8), 3*time.Second+g.seconds(9)
		hold := g.transfer(account, bank, asset, quantity, begin).asHold(open)
		for range 1 + g.IntN(4) {
			at := begin + open - 6*time.Second + g.seconds(14)
			end := g.release(hold, max(begin, at))
			if g.chance(.8) {
				end = g.capture(hold, max(begin, at))
			}
			if g.chance(.3) {
				g.spendAfter(end, account, asset, quantity)
			}
		}
		if g.chance(.6) {
			g.transfer(account, bank, asset, quantity, begin+open+g.seconds(12))
		}
	}
}

// reversing adds concurrent reversals of parts of a few transactions.
func (g *generator) reversing() {
	for range 1 + g.IntN(3) {
		of := g.transfer(bank, pick(g.dice, jane, joe), pick(g.dice, usd, aapl), g.amount(5, 60), g.seconds(4))
		if g.chance(.3) {
			of.asHold(200 * time.Second)
			g.capture(of, 5*time.Second+g.seconds(3))
		}
		begin := 8 * time.Second
		var by *operation
		for range 2 + g.IntN(5) {
			part := ledger.Part{}
			if g.chance(.75) {
				part = g.partOf(of)
			}
			by = g.reverse(of, part, begin+g.seconds(pick(g.dice, 1., 3, 12)))
		}
		if g.chance(.4) {
			g.reverse(by, ledger.Part{}, 18*time.Second+g.seconds(10))
		}
		if g.chance(.4) { // spends what the reversals take back
			account := of.legs[1]
			g.transfer(account.Account, bank, account.Asset, g.amount(1, 40), begin+g.seconds(6))
		}
	}
}

// change adds a change of an account's state, if not empty, and of its limits, if not sameLimit.
func (g *generator) change(account string, state events.AccountState, limit int64, begin time.Duration) *operation {
	op := g.add(&operation{kind: kindChange, begin: begin})
	op.change = ledger.ChangeAccount{ID: account, Actor: op.name}
	if state != "" {
		op.change.State = &state
	}
	if limit >= 0 {
		o := events.Overdraft{Limits: map[string]events.Amount{
			usd: events.NewAmount(limit), aapl: events.NewAmount(limit),
		}}
		op.change.Overdraft = &o
	}
	return op
}

const sameLimit = -1

// changeAny adds a change of a random kind, but never closes the account.
func (g *generator) changeAny(account string, begin time.Duration) {
	switch g.IntN(5) {
	case 0, 1:
		g.change(account, events.StateFrozen, sameLimit, begin)
	case 2:
		g.change(account, events.StateOpen, pick(g.dice, int64(sameLimit), 500), begin)
	default:
		g.change(account, "", pick(g.dice, int64(0), 20, 50, 100), begin)
	}
}

func (g *generator) closeAccount(account string, begin time.Duration) {
	g.change(account, events.StateClosed, sameLimit, begin)
}

func (g *generator) changing() {
	g.transfer(bank, jane, usd, events.NewAmount(pick(g.dice, int64(60), 2000)), 0)
	for range 6 + g.IntN(14) {
		op := g.transfer(jane, bank, pick(g.dice, usd, usd, usd, aapl), g.amount(1, 60), g.seconds(30))
		if g.chance(.15) {
			op.asHold(200 * time.Second)
		}
	}
	for range 2 + g.IntN(6) {
		g.changeAny(jane, g.seconds(30))
	}
	for range g.IntN(6) {
		g.costAlone(pick(g.dice, jane, jane, joe), bank, g.seconds(30))
	}
	for range g.IntN(3) {
		g.fits(jane, g.seconds(30))
	}
}

func (g *generator) raising() {
	g.transfer(bank, jane, usd, events.NewAmount(10), 0)
	for range 3 + g.IntN(6) {
		g.transfer(jane, bank, usd, g.amount(5, 40), 3*time.Second+g.seconds(12))
	}
	for j := range 1 + g.IntN(2) {
		g.change(jane, "", int64(60+60*j), 5*time.Second+g.seconds(6))
	}
	for range g.IntN(3) {
		g.fits(jane, 3*time.Second+g.seconds(12))
	}
}

// closing adds calls to close jane's account while it spends. It has no funds, or only for a while, but may have an
// overdraft.
func (g *generator) closing() {
	if g.knobs.outage > 0 {
		g.closingLate()
		return
	}
	at := g.seconds(10)
	if g.chance(.7) {
		g.change(jane, "", 50, 0)
	}
	if g.chance(.4) { // the account is funded, and spends the funds again
		quantity := g.amount(1, 40)
		g.transfer(bank, jane, usd, quantity, at)
		g.transfer(jane, bank, usd, quantity, at+g.seconds(4))
	}
	for range 1 + g.IntN(4) {
		op := g.transfer(jane, pick(g.dice, joe, bank), pick(g.dice, usd, aapl), g.amount(1, 50),
			at+g.seconds(pick(g.dice, 2., 8)))
		if g.chance(.4) {
			op.asHold(200 * time.Second)
		}
	}
	for range 1 + g.IntN(2) {
		g.closeAccount(jane, at+g.seconds(pick(g.dice, 2., 6)))
	}
	if g.chance(.3) {
		g.changeAny(jane, at+g.seconds(8))
	}
	for range g.IntN(4) {
		g.costAlone(jane, joe, at+g.seconds(12))
	}
}

// closingLate adds calls to close jane's account after its balance was sealed. Before and meanwhile, it receives
// backdated credits below the seal, which are projected late.
func (g *generator) closingLate() {
	for n := range 2 {
		quantity := g.amount(1, 40)
		fund := g.transfer(bank, jane, usd, quantity, time.Duration(n)*20*time.Second)
		g.spendAfter(fund, jane, usd, quantity)
	}
	at := g.knobs.outage + g.seconds(3)
	for range 2 + g.IntN(2) {
		g.transfer(bank, jane, usd, g.amount(1, 40), at+g.seconds(6)).late = true
		g.closeAccount(jane, at+g.seconds(12))
	}
}
