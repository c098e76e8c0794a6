package ledger

import (
	"slices"
	"time"

	"ledger.example/events"
)

// A clerk decides a request in a world by the sentences of the documents, in small numbers. It shares no code with the
// rules that it checks.
type clerk struct {
	ask
	world
	verdict
	because string // the last sentence that applied
	skipped bool   // the sentence that is not checked applied
}

// The clerk's sentences.
const (
	isSound     = "a request that contradicts itself is refused before anything is read"
	exists      = "what does not exist is neither ended nor reversed, and names no account and no asset"
	isOfHold    = "only a hold is ended"
	isPart      = "a part has the form and the signs of what it is taken of, and balances"
	isSome      = "something is captured or reversed"
	namesCosts  = "a part of what has a cost names the cost"
	withinHold  = "no more is captured than was held"
	isReplay    = "a reversal that is listed was posted, and is not planned again"
	wasPosted   = "what was not posted is not reversed"
	isAfter     = "nothing is reversed before the time when it was posted"
	withinLeft  = "no more is reversed than is left"
	hasCurrency = "a cost is in the currency of its asset"
	byClock     = "a time refuses a request only if the clock is sound"
	expiresSoon = "a hold expires after now, within 31 days"
	isOld       = "an effective date is 15 seconds old"
	isKnown     = "while an earlier attempt may be applied, no account state refuses a request"
	isAnew      = "an account without a limit is read anew before its state refuses a debit"
	costIsAnew  = "an account that gives a cost alone is read anew, because it has no guard"
	isFrozen    = "a frozen account gives nothing"
	isClosed    = "a closed account gets nothing, and gives only what a reversal takes back"
	isAsked     = "what is not refused is planned as asked"
)

// applies notes a sentence that the decision depends on.
func (c *clerk) applies(sentence string) {
	c.because, c.skipped = sentence, c.skipped || sentence == *without
}

// refuses notes a refusal if a sentence is broken, and reports whether it is.
func (c *clerk) refuses(broken bool, sentence string, code Code) bool {
	if broken {
		c.applies(sentence)
		c.code = code
	}
	return broken
}

func (c *clerk) asks(of what) { c.needs[len(c.needed())] = of }

// decide decides the request.
func (c *clerk) decide() {
	c.applies(isAsked)
	if c.refuses(c.contradicts(), isSound, CodeInvalidTransaction) || c.refuses(!c.balances(), isSound, CodeUnbalanced) {
		return
	}
	legs := c.moves
	if len(c.moves) == 0 { // it is for another transaction
		if c.asks(needOther); c.refuses(c.other == "", exists, CodeTransactionNotFound) {
			return
		}
		if c.kind != "reversal" {
			c.end()
			return
		}
		if legs = c.reverse(); legs == nil {
			return
		}
	}
	if c.asks(needNames); c.namesNothing(legs) {
		return
	}
	if c.settle && legs[0].cost != 0 {
		cash := legs[0].cost
		legs = append(slices.Clip(legs), move{legs[0].account, "USD", -cash, 0}, move{legs[1].account, "USD", cash, 0})
	}
	if c.comesTooEarly() {
		return
	}
	if c.unknown {
		c.applies(isKnown)
	} else if c.isForbidden(legs) {
		return
	}
	for i, m := range legs {
		c.legs[i] = events.Leg{
			Account: m.account, Asset: m.asset, Quantity: events.NewAmount(m.quantity), Cost: events.NewAmount(m.cost),
		}
	}
}

// contradicts reports whether a transaction breaks a rule by itself.
func (c *clerk) contradicts() bool {
	switch c.kind {
	case "transfer", "trade":
		return c.moves[0].account == c.moves[1].account
	case "postings":
		held := map[string]bool{}
		for _, m := range c.moves {
			held[m.account] = held[m.account] || m.quantity != 0
		}
		return len(c.moves) < 2 || slices.ContainsFunc(c.moves, func(m move) bool {
			return m.quantity == 0 && m.cost == 0 || c.ask.hold != "" && !held[m.account]
		})
	}
	return false
}

func (c *clerk) balances() bool {
	sums := map[string][2]int64{}
	for _, m := range c.moves {
		s := sums[m.asset]
		sums[m.asset] = [2]int64{s[0] + m.quantity, s[1] + m.cost}
	}
	for _, s := range sums {
		if s != [2]int64{} {
			return false
		}
	}
	return true
}

// share returns a part of the other transaction, for a cost if it is a trade.
func (w world) share(quantity, cost int64) []move {
	switch w.other {
	case "trade":
		return []move{{"a", "X", quantity, cost}, {"b", "X", -quantity, -cost}}
	case "postings":
		less := quantity / 2
		return []move{{"a", "X", -quantity, 0}, {"b", "X", quantity - less, 0}, {"b", "X", less, 0}}
	}
	return []move{{"a", "X", -quantity, 0}, {"b", "X", quantity, 0}}
}

// placed returns the legs of the other transaction.
func (w world) placed() []move { return w.share(3, 2) }

// posted returns what the other transaction posted: not all of a captured hold.
func (w world) posted() []move {
	switch w.hold {
	case "":
		return w.placed()
	case "captured":
		return w.share(2, 1)
	}
	return nil
}

// takes returns what the part takes of the legs of the other transaction, of which something is left, nil for all.
func (c *clerk) takes(left []move) (legs []move) {
	switch {
	case c.part.form == "quantity" && c.other == "postings":
		n := c.part.quantity
		if left == nil || n > -left[0].quantity { // it is refused, and planned as if nothing had been taken
			left = c.placed()
		}
		first := nearest(n, left[1].quantity, left[2].quantity)
		return []move{{"a", "X", -n, 0}, {"b", "X", first, 0}, {"b", "X", n - first, 0}}
	case c.part.form == "quantity":
		return c.share(c.part.quantity, c.part.cost)
	}
	switch c.part.form {
	case "postings":
		for i, m := range c.placed() {
			legs = append(legs, move{m.account, m.asset, c.part.postings[i], 0})
		}
	}
	return legs
}

// nearest returns the first share of n, which is divided in proportion to two weights: that of which it is least wrong,
// or the greater one of two.
func nearest(n, first, second int64) (best int64) {
	off := func(share int64) int64 {
		miss := share*(first+second) - n*first
		return max(miss, -miss)
	}
	for share := range n + 1 {
		if off(share) <= off(best) {
			best = share
		}
	}
	return best
}

// isWrong refuses a part that is not one of the other transaction.
func (c *clerk) isWrong() bool {
	byPostings := c.other == "postings"
	switch c.part.form {
	case "quantity":
		if c.refuses(c.other != "trade" && c.part.cost != 0, isPart, CodeInvalidTransaction) {
			return true
		}
	case "postings":
		of := c.part.postings
		isOtherSign := len(of) != 3 || of[0] > 0 || of[1] < 0 || of[2] < 0 // a gives, and b gets
		if c.refuses(!byPostings || isOtherSign, isPart, CodeInvalidTransaction) {
			return true
		}
		return c.refuses(of[0]+of[1]+of[2] != 0, isPart, CodeUnbalanced)
	}
	return false
}

// lacksCost reports whether the part does not name the cost of what has one.
func (c *clerk) lacksCost(of []move) bool {
	return c.part.form == "quantity" && !c.part.costs && len(of) > 0 && of[0].cost != 0
}

func isNothing(legs []move) bool {
	return !slices.ContainsFunc(legs, func(m move) bool { return m.quantity != 0 || m.cost != 0 })
}

func exceeds(taken, left []move) bool {
	abs := func(n int64) int64 { return max(n, -n) }
	for i, m := range taken {
		if abs(m.quantity) > abs(left[i].quantity) || abs(m.cost) > abs(left[i].cost) {
			return true
		}
	}
	return false
}

// take notes what is planned to be taken.
func (c *clerk) take(legs []move) {
	for i, m := range legs {
		c.taken[i] = events.Taken{Quantity: events.NewAmount(m.quantity), Cost: events.NewAmount(m.cost)}
	}
}

// end decides the end of a hold. A refusal that is too late, because the hold has ended, has the plan of a replay.
func (c *clerk) end() {
	if c.refuses(c.world.hold == "", isOfHold, CodeNotAHold) {
		return
	}
	if c.kind == "release" {
		c.ended = c.world.hold != "open"
		return
	}
	if c.isWrong() {
		return
	}
	taken := c.takes(c.placed())
	if c.refuses(taken != nil && isNothing(taken), isSome, CodeNothingCaptured) {
		return
	}
	if taken == nil {
		taken = c.placed()
	}
	c.take(taken)
	c.ended = c.world.hold != "open"
	if !c.refuses(c.lacksCost(c.placed()), namesCosts, CodeCostRequired) {
		c.refuses(exceeds(taken, c.placed()), withinHold, CodeExceedsHold)
	}
}

// reverse decides what a reversal moves: nil if it moves nothing.
func (c *clerk) reverse() []move {
	if c.world.listed && len(c.reversed) > 0 {
		c.applies(isReplay)
		c.verdict.listed = true
		return nil
	}
	if c.isWrong() {
		return nil
	}
	posted := c.posted()
	left := slices.Clone(posted)
	for _, n := range c.reversed {
		for i, m := range c.share(n, 0) {
			if posted != nil {
				left[i].quantity -= m.quantity
			}
		}
	}
	taken := c.takes(left)
	if c.refuses(taken != nil && isNothing(taken), isSome, CodeInvalidTransaction) ||
		c.refuses(posted == nil, wasPosted, CodeNothingToReverse) ||
		c.refuses(c.date == "before the other", isAfter, CodeInvalidRequest) ||
		c.refuses(c.lacksCost(posted), namesCosts, CodeCostRequired) {
		return nil
	}
	if taken == nil {
		taken = left
	}
	if c.refuses(isNothing(left) || exceeds(taken, left), withinLeft, CodeExceedsReversible) {
		return nil
	}
	var back []move
	for _, m := range taken {
		if m.quantity != 0 || m.cost != 0 {
			back = append(back, move{m.account, m.asset, -m.quantity, -m.cost})
		}
	}
	c.number = int64(len(c.reversed)) + 1
	c.take(taken)
	return back
}

// namesNothing refuses names of nothing.
func (c *clerk) namesNothing(legs []move) bool {
	hasCost := c.settle
	for _, m := range legs {
		hasCost = hasCost || m.cost != 0
		if c.refuses(c.lacks == m.account, exists, CodeAccountNotFound) {
			return true
		}
	}
	return c.refuses(c.lacks == "asset", exists, CodeAssetNotFound) ||
		c.refuses(c.lacks == "currency" && hasCost, hasCurrency, CodeInvalidTransaction)
}

// comesTooEarly refuses by the time.
func (c *clerk) comesTooEarly() bool {
	switch c.ask.hold {
	case "":
	case "week":
		c.expires = decidedAt.Add(7 * 24 * time.Hour)
	default:
		c.expires = expiries[c.ask.hold]
	}
	isExpired := c.ask.hold == "now" || c.ask.hold == "later"
	if isExpired || c.date == "recent" {
		c.applies(byClock)
		c.asks(needClock)
	}
	if c.refuses(isExpired, expiresSoon, CodeInvalidRequest) {
		return true
	}
	return c.refuses(c.date == "recent", isOld, CodeInvalidRequest)
}

// isForbidden refuses by the states of the accounts. The guard of an account with a limit checks its debits: they are
// sent, whatever is known of the account.
func (c *clerk) isForbidden(legs []move) bool {
	var states [2]events.AccountState
	copy(states[:], c.cached[:])
	for _, m := range legs {
		i := slices.Index(accountIDs, m.account)
		switch {
		case m.quantity == 0 && m.cost < 0:
			c.applies(costIsAnew)
		case m.quantity < 0 && c.unlimited[i] && c.forbids(c.cached[i], m) != "":
			c.applies(isAnew)
		default:
			continue
		}
		c.anew[i], states[i] = true, c.stored[i]
	}
	if c.anew != [2]bool{} {
		c.asks(needAccounts)
	}
	for _, m := range legs {
		i := slices.Index(accountIDs, m.account)
		sentence := c.forbids(states[i], m)
		if sentence == "" || m.quantity < 0 && !c.unlimited[i] {
			continue
		}
		code := CodeAccountFrozen
		if sentence == isClosed {
			code = CodeAccountClosed
		}
		c.about = m.account
		return c.refuses(true, sentence, code)
	}
	return false
}

// forbids returns the sentence by which a state forbids a leg, "" if it does not.
func (c *clerk) forbids(s events.AccountState, m move) string {
	gives := m.quantity < 0 || m.quantity == 0 && m.cost < 0
	switch {
	case s == events.StateFrozen && gives:
		return isFrozen
	case s == events.StateClosed && (c.kind != "reversal" || m.quantity > 0):
		return isClosed
	}
	return ""
}
