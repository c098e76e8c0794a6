package simulation

import (
	"reflect"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// backdate lets some requests be posted for a time in the past: before the history began, or within it, which a call
// may be too early for. Their other body is the same at another date.
func (h *history) backdate(p *posting, n int) {
	d := h.plan.draw("effective", uint64(n))
	if !h.meets(Backdated, d.chance(h.knobs.backdated)) {
		return
	}
	at := h.began.Add(-d.between(time.Microsecond, pick(d, time.Second, time.Minute, time.Hour, 1000*time.Hour)))
	if d.chance(.4) {
		at = h.began.Add(d.between(0, h.knobs.span))
	}
	other := at.Add(-time.Microsecond)
	p.effective = at
	p.request, p.other = datedAt(p.request, &at), datedAt(p.request, &other)
}

// datedAt returns a request with an effective date.
func datedAt(request any, at *time.Time) any {
	switch r := request.(type) {
	case ledger.PostTransfer:
		r.EffectiveAt = at
		return r
	case ledger.PostTrade:
		r.EffectiveAt = at
		return r
	case ledger.PostTransaction:
		r.EffectiveAt = at
		return r
	case ledger.ReverseRequest:
		r.EffectiveAt = at
		return r
	}
	return request
}

func isOther(p *posting, body any) bool { return p.other != nil && reflect.DeepEqual(body, p.other) }

// tooEarly checks a refusal because an effective date is not past yet, by a clock that may be a little behind.
func (h *history) tooEarly(p *posting, e *ledger.Error) (ours bool) {
	if e.Code != ledger.CodeInvalidRequest || p.effective.IsZero() {
		return false
	}
	if since := time.Since(p.effective); since > skewMost+time.Second+slowMost {
		h.broken("%s: refused %v after its effective date: %w", p.id, since, e)
	}
	p.refused, p.declined = true, string(e.Code)
	return true
}

// late notes that a backdated transaction was acknowledged: reads include it once it is projected.
func (m *model) late(t events.TransactionPosted) {
	for _, p := range t.Postings() {
		k := pair{Account: p.Account, Asset: p.Asset}
		if m.unseen[k] == nil {
			m.unseen[k] = map[events.KSUID]events.PostingRecorded{}
		}
		if _, there := m.postings[k][p.ID]; !there && !m.damaged {
			m.broken("%s was acknowledged, and its posting %s to %v is not there", p.Transaction, p.ID, k)
		}
		m.unseen[k][p.ID] = p
	}
	m.seen()
}

// seen notes what is shown of backdated transactions: strong reads must show it from now on. Sums of any amounts don't
// tell which postings are in them.
func (m *model) seen() {
	if m.plan.Mode != "" {
		return
	}
	for k, ofPair := range m.unseen {
		for id, p := range ofPair {
			if m.without(legsOf(p), m.balances[k].head.legs) == (legs{}) {
				delete(ofPair, id)
				m.acknowledgePostings([]events.PostingRecorded{p})
				m.stats.Seen++
			}
		}
	}
}
