package simulation

import (
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// postsMost is how many posts there are at most where each moves a power of two: all of them together stay below 2^63.
const postsMost = 48

// postsAlone: each moves 2^e of something, and no other has the same e.
func (m *maker) postsAlone() {
	for _, e := range m.Perm(postsMost)[:3+m.IntN(postsMost-2)] {
		m.post(events.NewAmount(1<<e), m.between(0, m.knobs.span))
	}
}

// post asks for any transaction.
func (m *maker) post(quantity events.Amount, begin time.Duration) {
	two := m.Perm(len(holders))
	from, to := holders[two[0]], holders[two[1]]
	if m.knobs.narrow && m.chance(.8) {
		m.transfer(bank, jane, usd, quantity, begin)
		return
	}
	kind := m.IntN(8)
	if m.knobs.spending && m.chance(.6) {
		kind = 2
	}
	switch kind {
	case 0, 1: // funded
		m.transfer(bank, pick(m.dice, jane, jane, joe), pick(m.dice, usd, usd, aapl), quantity, begin)
	case 2, 3: // spent
		m.transfer(pick(m.dice, jane, jane, joe), pick(m.dice, bank, shop), pick(m.dice, usd, usd, aapl), quantity, begin)
	case 4:
		m.transfer(from, to, pick(m.dice, usd, aapl), quantity, begin)
	case 5:
		m.trade(begin, from, to, quantity, quantity, m.chance(.7))
	case 6: // passes through jane, who is debited and credited at once
		m.transaction(begin, legOf(bank, usd, quantity.Neg()), legOf(jane, usd, quantity),
			legOf(jane, usd, quantity.Neg()), legOf(joe, usd, quantity))
	case 7: // two assets, with costs
		m.transaction(begin, ledger.LegRequest{Account: from, Asset: aapl, Quantity: quantity, Cost: quantity},
			ledger.LegRequest{Account: to, Asset: aapl, Quantity: quantity.Neg(), Cost: quantity.Neg()},
			legOf(from, usd, quantity.Neg()), legOf(to, usd, quantity))
	}
}

// placed asks for a hold of any kind.
func (m *maker) placed(begin, expires time.Duration) *ask {
	from, to := jane, pick(m.dice, joe, bank)
	if m.chance(.5) {
		from, to = joe, pick(m.dice, jane, shop)
	}
	asset, quantity := pick(m.dice, usd, aapl), m.amount(2, 90)
	switch m.IntN(4) {
	case 0: // with change for the payer: its own credit
		back := m.amount(1, int(int64Of(quantity)))
		rest, _ := quantity.Sub(back)
		return m.transaction(begin, legOf(from, asset, quantity.Neg()), legOf(from, asset, back),
			legOf(to, asset, rest)).held(expires)
	case 1: // an order
		return m.trade(begin, from, to, quantity, m.amount(1, 60), true).held(expires)
	}
	return m.transfer(from, to, asset, quantity, begin).held(expires)
}

func (m *maker) fund(most float64) {
	m.transfer(bank, pick(m.dice, jane, joe), pick(m.dice, usd, aapl), m.amount(20, 160), m.seconds(most))
}

func (m *maker) mixed() {
	for range 2 + m.IntN(5) {
		m.fund(pick(m.dice, 0., 20, 20))
	}
	var plain []*ask
	for range 1 + m.IntN(6) {
		from := pick(m.dice, jane, joe)
		to := pick(m.dice, slices.DeleteFunc([]string{jane, joe, bank}, func(to string) bool { return to == from })...)
		plain = append(plain, m.transfer(from, to, pick(m.dice, usd, aapl), m.amount(1, 90), m.seconds(30)))
	}
	for range 1 + m.IntN(4) {
		hold := m.placed(m.seconds(25), pick(m.dice, 8*time.Second, 12*time.Second, 20*time.Second, 200*time.Second, 0))
		for range m.IntN(3) {
			later := hold.begin + m.seconds(pick(m.dice, 3., 3, 10, 25))
			if m.chance(.4) {
				m.release(hold, later)
			} else {
				m.capture(hold, later)
			}
		}
		plain = append(plain, hold)
	}
	for _, of := range plain {
		for range pick(m.dice, 0, 0, 0, 1, 2, 3) {
			part := ledger.Part{}
			if m.chance(.6) {
				part = m.partOf(of)
			}
			m.reverse(of, part, m.seconds(35))
		}
	}
	for range m.IntN(4) {
		m.changed(pick(m.dice, jane, joe), m.seconds(30))
	}
	if m.chance(.15) {
		m.close(pick(m.dice, jane, joe), m.seconds(40))
	}
}

// givenBack: all there is is held, given back, and spent by who was told so first.
func (m *maker) givenBack() {
	for _, account := range []string{jane, joe}[:1+m.IntN(2)] {
		asset, quantity := pick(m.dice, usd, aapl), m.amount(10, 90)
		if account == joe {
			asset = aapl // without an overdraft
		}
		m.transfer(bank, account, asset, quantity, 0)
		hold := m.transfer(account, bank, asset, quantity, 8*time.Second).held(pick(m.dice, 200*time.Second, 0))
		for range m.IntN(3) { // meanwhile it can't be spent
			m.transfer(account, bank, asset, m.amount(1, 1+int(int64Of(quantity))), 10*time.Second+m.seconds(10))
		}
		for range 1 + m.IntN(3) {
			end := m.release(hold, 14*time.Second+m.seconds(3))
			back := quantity
			if m.chance(.3) {
				end = m.capture(hold, 14*time.Second+m.seconds(3))
				if end.part.Quantity != nil {
					back, _ = quantity.Sub(*end.part.Quantity)
				}
			}
			if back.Sign() > 0 {
				m.spendAll(end, account, asset, back)
			}
		}
	}
}

// expiring: ends meet at the time of expiry.
func (m *maker) expiring() {
	for range 2 + m.IntN(4) {
		account, asset, quantity := pick(m.dice, jane, joe), aapl, m.amount(10, 90)
		m.transfer(bank, account, asset, quantity, m.seconds(3))
		begin, open := 4*time.Second+m.seconds(8), 3*time.Second+m.seconds(9)
		hold := m.transfer(account, bank, asset, quantity, begin).held(open)
		for range 1 + m.IntN(4) {
			at := begin + open - 6*time.Second + m.seconds(14)
			end := m.release(hold, max(begin, at))
			if m.chance(.8) {
				end = m.capture(hold, max(begin, at))
			}
			if m.chance(.3) {
				m.spendAll(end, account, asset, quantity)
			}
		}
		if m.chance(.6) {
			m.transfer(account, bank, asset, quantity, begin+open+m.seconds(12))
		}
	}
}

// reversing: parts of a few transactions meet.
func (m *maker) reversing() {
	for range 1 + m.IntN(3) {
		of := m.transfer(bank, pick(m.dice, jane, joe), pick(m.dice, usd, aapl), m.amount(5, 60), m.seconds(4))
		if m.chance(.3) {
			of.held(200 * time.Second)
			m.capture(of, 5*time.Second+m.seconds(3))
		}
		begin := 8 * time.Second
		var by *ask
		for range 2 + m.IntN(5) {
			part := ledger.Part{}
			if m.chance(.75) {
				part = m.partOf(of)
			}
			by = m.reverse(of, part, begin+m.seconds(pick(m.dice, 1., 3, 12)))
		}
		if m.chance(.4) {
			m.reverse(by, ledger.Part{}, 18*time.Second+m.seconds(10))
		}
		if m.chance(.4) { // what would be taken back is spent meanwhile
			account := of.legs[1]
			m.transfer(account.Account, bank, account.Asset, m.amount(1, 40), begin+m.seconds(6))
		}
	}
}

// batching: what later requests of a batch spend, earlier ones bring, or nobody.
func (m *maker) batching() {
	for range 1 + m.IntN(2) {
		m.fund(pick(m.dice, 0., 10))
	}
	for range 2 + m.IntN(3) {
		b := m.add(&ask{kind: batches, begin: 2*time.Second + m.seconds(20), atomic: m.chance(.6)})
		account, before := pick(m.dice, jane, joe), m.chance(.4)
		for i := range 1 + m.IntN(4) {
			if !before && m.chance(.3) {
				account = pick(m.dice, jane, joe)
			}
			spent := before && i%2 == 0 || !before && m.chance(.6) // before it is there
			from, to := bank, account
			if spent {
				from, to = account, pick(m.dice, bank, shop)
			}
			a := m.transfer(from, to, usd, m.amount(5, 40), b.begin)
			if spent && m.chance(.3) {
				a.held(200 * time.Second)
			}
			a.batch = b
			b.members = append(b.members, a)
		}
	}
	for range 1 + m.IntN(4) {
		m.transfer(pick(m.dice, jane, joe), bank, usd, m.amount(1, 40), 2*time.Second+m.seconds(20))
	}
	if m.chance(.3) {
		m.changed(pick(m.dice, jane, joe), m.seconds(25))
	}
}

// patch asks to change an account.
func (m *maker) patch(account string, state events.AccountState, limit int64, begin time.Duration) *ask {
	a := m.add(&ask{kind: changes, begin: begin})
	a.change = ledger.ChangeAccount{ID: account, Actor: a.name}
	if state != "" {
		a.change.State = &state
	}
	if limit >= 0 {
		o := events.Overdraft{Limits: map[string]events.Amount{
			usd: events.NewAmount(limit), aapl: events.NewAmount(limit),
		}}
		a.change.Overdraft = &o
	}
	return a
}

const sameLimit = -1

// changed asks for any change but closing.
func (m *maker) changed(account string, begin time.Duration) {
	switch m.IntN(5) {
	case 0, 1:
		m.patch(account, events.StateFrozen, sameLimit, begin)
	case 2:
		m.patch(account, events.StateOpen, pick(m.dice, int64(sameLimit), 500), begin)
	default:
		m.patch(account, "", pick(m.dice, int64(0), 20, 50, 100), begin)
	}
}

func (m *maker) close(account string, begin time.Duration) {
	m.patch(account, events.StateClosed, sameLimit, begin)
}

func (m *maker) changing() {
	m.transfer(bank, jane, usd, events.NewAmount(pick(m.dice, int64(60), 2000)), 0)
	for range 6 + m.IntN(14) {
		a := m.transfer(jane, bank, pick(m.dice, usd, usd, usd, aapl), m.amount(1, 60), m.seconds(30))
		if m.chance(.15) {
			a.held(200 * time.Second)
		}
	}
	for range 2 + m.IntN(6) {
		m.changed(jane, m.seconds(30))
	}
}

func (m *maker) raising() {
	m.transfer(bank, jane, usd, events.NewAmount(10), 0)
	for range 3 + m.IntN(6) {
		m.transfer(jane, bank, usd, m.amount(5, 40), 3*time.Second+m.seconds(12))
	}
	for j := range 1 + m.IntN(2) {
		m.patch(jane, "", int64(60+60*j), 5*time.Second+m.seconds(6))
	}
}

// closing: nothing is there but what may be owed.
func (m *maker) closing() {
	at := m.seconds(10)
	if m.chance(.7) {
		m.patch(jane, "", 50, 0)
	}
	if m.chance(.4) { // it comes and goes
		quantity := m.amount(1, 40)
		m.transfer(bank, jane, usd, quantity, at)
		m.transfer(jane, bank, usd, quantity, at+m.seconds(4))
	}
	for range 1 + m.IntN(4) {
		a := m.transfer(jane, pick(m.dice, joe, bank), pick(m.dice, usd, aapl), m.amount(1, 50),
			at+m.seconds(pick(m.dice, 2., 8)))
		if m.chance(.4) {
			a.held(200 * time.Second)
		}
	}
	for range 1 + m.IntN(2) {
		m.close(jane, at+m.seconds(pick(m.dice, 2., 6)))
	}
	if m.chance(.3) {
		m.changed(jane, at+m.seconds(8))
	}
}
