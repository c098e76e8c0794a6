package simulation

import (
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// askAgain repeats each request whose transaction is there, long after: it must be answered with that, whoever was told
// what before.
func (h *history) askAgain() {
	p := h.born(afterwards, 0)
	for _, asked := range h.asked {
		stored, there := h.model.headers[asked.id]
		if !there {
			continue
		}
		answer, err := p.ledger.Post(as(afterwards+" "+asked.id), asked.request)
		if err != nil || !answer.Replayed || !sameTransaction(answer.Transaction, stored) {
			h.broken("%s is there, and asked for again it is answered with %+v (%w)", asked.id, answer, err)
		}
		h.observe()
	}
}

// exact checks everything at rest: nothing is under way, and every record was delivered or rebuilt from.
func (m *model) exact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, there := range m.there {
		b := m.balances[k]
		// A save on the way that is applied after everything was counted leaves a balance unfinished, and what it shows whole.
		if b.head.legs != there {
			m.broken("at rest %v counts credits %b of %b, debits %b of %b (unfinished: %v)", k, b.head.legs.credits, there.credits, b.head.legs.debits, there.debits, b.unfinished)
			continue
		}
		ids := slices.Sorted(maps.Keys(m.postings[k]))
		if b.first != ids[0] || b.head.through != ids[len(ids)-1] {
			m.broken("at rest %v is from %s through %s, its postings from %s through %s", k, b.first, b.head.through, ids[0], ids[len(ids)-1])
		}
		if got := m.through(k, "", b.seal.through); got != b.seal.legs {
			m.broken("at rest the seal of %v lacks %+v", k, got.without(b.seal.legs))
		}
		var at events.KSUID
		var sum fold
		for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
			s := m.segments[k][through]
			if s.after != at {
				m.broken("at rest the segments of %v do not meet after %q", k, at)
			}
			m.right(k, "a segment", s.fold)
			if got := m.through(k, s.after, through); got != s.fold.legs {
				m.broken("at rest the segment of %v through %s lacks %+v", k, through, got.without(s.fold.legs))
			}
			sum = fold{through, sum.legs.plus(s.fold.legs), sum.count + s.fold.count, sum.expenditure + s.fold.expenditure}
			at = through
		}
		if sum != b.base {
			m.broken("at rest the base of %v is %+v, its segments add up to %+v", k, b.base, sum)
		}
	}
	for _, account := range holders {
		m.summarized(account)
	}
	if m.newest > 0 {
		m.member()
	}
	for k, there := range m.there {
		spent, guarded := m.spent[k]
		switch limited := m.floor(k) != nil; {
		case guarded && !limited:
			m.broken("at rest %v has a guard, and no limit", k)
		case limited && spent != there.debits:
			m.broken("at rest the guard of %v says %d, its postings %d", k, spent, there.debits)
		}
	}
	for _, p := range m.asked {
		m.told(p)
	}
}

// through is what was posted to k after one KSUID, through another.
func (m *model) through(k pair, after, through events.KSUID) (found legs) {
	for id, p := range m.postings[k] {
		if after < id && id <= through {
			found = found.plus(legOf(p.Quantity))
		}
	}
	return found
}

func (m *model) summarized(account string) {
	var want summary
	for k, postings := range m.postings {
		if k.Account != account || len(postings) == 0 {
			continue
		}
		want.assets++
		if m.there[k].credits != m.there[k].debits {
			want.holdings++
		}
		if first := slices.Min(slices.Collect(maps.Keys(postings))); want.first == "" || first < want.first {
			want.first = first
		}
	}
	if got := m.summaries[account]; got != want {
		m.broken("at rest the summary of %s is %+v, not %+v", account, got, want)
	}
}

func (m *model) member() {
	key, wanted := table.MembershipKey(jane, mary), m.roles[m.newest]
	item, _ := m.store.Item(key)
	if got := int64(unsigned(item, table.AttrNumber)); got != m.newest {
		m.broken("at rest the membership shows grant %d, not %d", got, m.newest)
	}
	if role := text(item, table.AttrRole); role != wanted {
		m.broken("at rest the membership shows the role %q, not %q", role, wanted)
	}
	if _, listed := item[table.AttrPK2]; listed != (wanted != "") {
		m.broken("at rest the membership with role %q is listed: %v", wanted, listed)
	}
}

// told checks what the callers of a request were told against what became of it.
func (m *model) told(p *posting) {
	stored, there := m.headers[p.id]
	switch {
	case p.first != nil && (!there || !sameTransaction(*p.first, stored)):
		m.broken("%s was acknowledged, and is not there so", p.id)
	case there && p.final:
		m.broken("%s is there, and the last of its callers was told that funds were insufficient", p.id)
	case p.first == nil && there && !p.unknown:
		m.broken("%s is there, and its callers were told that nothing was written (%s)", p.id, p.declined)
	}
}
