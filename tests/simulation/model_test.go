package simulation

import (
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// pair is one account's holding of one asset.
type pair = events.Pair

// sums are the sums of a pair's postings that never fall: credits, debits with everything ever held, and what ended
// holds gave back.
//
// In TestHistories each transaction moves a different power of two. There a sum is also a set: its bits show which
// transactions it counts. A sum that counts one twice shows a wrong set.
type sums struct{ credits, debits, returned uint64 }

// sumsAreSets reports whether the bits of sums show which transactions they count.
func (m *model) sumsAreSets() bool { return m.plan.Mode == PostsOnly }

// plus adds sums, or returns the union of sets.
func (m *model) plus(a, b sums) sums {
	if m.sumsAreSets() {
		return sums{a.credits | b.credits, a.debits | b.debits, 0}
	}
	return sums{a.credits + b.credits, a.debits + b.debits, a.returned + b.returned}
}

// minus returns what a has and b lacks. It is zero if a is at most b, or a subset of it.
func (m *model) minus(a, b sums) sums {
	if m.sumsAreSets() {
		return sums{a.credits &^ b.credits, a.debits &^ b.debits, 0}
	}
	return sums{a.credits - min(a.credits, b.credits), a.debits - min(a.debits, b.debits),
		a.returned - min(a.returned, b.returned)}
}

func (a sums) count() int { return bits.OnesCount64(a.credits) + bits.OnesCount64(a.debits) }

func sumsOfQuantity(quantity events.Amount) sums {
	n := int64Of(quantity)
	if n < 0 {
		return sums{debits: uint64(-n)}
	}
	return sums{credits: uint64(n)}
}

// model is a copy of the table in maps. Methods take* add a change of the store to it, methods note* and acknowledge*
// an answer or a call, and methods check* compare. mu protects all fields.
type model struct {
	*history
	mu sync.Mutex

	// Stored events and guards.
	headers      map[string]events.TransactionPosted
	headerStamps map[string]int // when a header was stored
	postings     map[pair]map[events.KSUID]events.PostingRecorded
	stored       map[pair]sums // sums of all postings
	spent        map[pair]int64
	spentBefore  map[pair]map[int64]int64 // what a guard had spent before it had spent so much
	roles        []string                 // mary's role after each change, from the first
	closings     []events.PeriodClosed
	closers      map[events.PeriodClosed]*call // the calls that sent them
	groups       []string                      // the groups of jane's account after each change, from the first

	// Stored projections.
	balances  map[pair]balance
	segments  map[pair]map[events.KSUID]segment
	summaries map[string]summary
	newest    map[table.Key]int64 // numbers of the events that memberships, places and tags show

	// Answers to callers.
	ackedSums       map[pair]sums
	ackedPostings   map[pair]map[events.KSUID]sums
	hiddenBackdated map[pair]map[events.KSUID]events.PostingRecorded // acknowledged, but not projected yet
	fundsRead       map[pair]uint64                                  // credits that reads of funds showed, but for late ones
	late            map[events.KSUID]bool                            // see isLate

	lifecycle
}

func newModel(h *history) *model {
	return &model{
		history: h,
		headers: map[string]events.TransactionPosted{}, headerStamps: map[string]int{},
		closers: map[events.PeriodClosed]*call{}, postings: map[pair]map[events.KSUID]events.PostingRecorded{},
		stored: map[pair]sums{}, ackedSums: map[pair]sums{}, ackedPostings: map[pair]map[events.KSUID]sums{},
		balances: map[pair]balance{}, segments: map[pair]map[events.KSUID]segment{},
		roles: []string{""}, groups: []string{""},
		summaries: map[string]summary{}, newest: map[table.Key]int64{},
		spent: map[pair]int64{}, spentBefore: map[pair]map[int64]int64{},
		hiddenBackdated: map[pair]map[events.KSUID]events.PostingRecorded{}, lifecycle: newLifecycle(),
		fundsRead: map[pair]uint64{}, late: map[events.KSUID]bool{},
	}
}

// observe gives all new changes of the store to the model and to the stream. If no write is only partly visible, it
// then checks the projections against each other.
func (h *history) observe() {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	for _, c := range h.store.Since(h.observed) {
		h.observed++
		h.model.take(c.Key, c.Before, c.After)
		if kind := text(c.After, table.AttrType); isListed(kind) {
			h.unstreamed++
			continue
		}
		h.mu.Lock()
		h.appendRecord(c.Key, h.observed-h.unstreamed, c.After)
		h.mu.Unlock()
	}
	if h.committing.Load() > 0 {
		return
	}
	h.model.noteShown()
	if !h.damaged {
		h.model.checkProjections()
		h.model.checkLimits()
	}
}

// isListed reports whether a lister writes items of a type, in parallel: their order says nothing.
func isListed(kind string) bool {
	return kind == table.Listed.Type || kind == table.Tagged.Type || kind == table.Journal.Type
}

// take adds one change of the store.
func (m *model) take(key table.Key, before, after table.Item) {
	if m.damaged && !table.IsEvent(key.SK) {
		return // damaged projections are left to the audit
	}
	if after == nil {
		m.fail("%v was deleted", key)
		return
	}
	switch text(after, table.AttrType) {
	case table.Spend.Type:
		account, asset, _ := table.Spend.Parse(key)
		k := pair{Account: account, Asset: asset}
		if spent := number(after, table.AttrSpent); spent != m.spent[k] {
			inner(m.spentBefore, k)[spent], m.spent[k] = m.spent[k], spent
		}
		m.takeGuard(k, number(after, table.AttrChange))
		m.takeGuardRates(k, after)
	case table.Current.Type:
		if e, err := table.DecodeCurrent(after); err != nil {
			m.fail("the current state of an account cannot be decoded: %w", err)
		} else {
			m.takeChange(e)
		}
	case table.Balance.Type:
		m.takeBalance(key, after)
	case table.Segment.Type:
		account, asset, through, _ := table.Segment.Parse(key)
		k := pair{Account: account, Asset: asset}
		inner(m.segments, k)[events.KSUID(through)] = segment{after: events.KSUID(text(after, table.AttrAfter)),
			fold: foldOf(after)}
		m.count("segments closed")
	case table.Summary.Type:
		account, _ := table.Summary.Parse(key)
		m.summaries[account] = summaryOf(after)
	case table.Membership.Type, table.Grouped.Type, table.Tagged.Type:
		newest := number(after, table.AttrNumber)
		if newest < m.newest[key] {
			m.fail("%v went back from number %d to %d", key, m.newest[key], newest)
		}
		m.newest[key] = newest
	default:
		if !table.IsEvent(key.SK) {
			return // other projections are checked by the audit at the end
		}
		if before != nil {
			m.fail("the event %v was changed", key)
		}
		m.takeEvent(key, after)
	}
}

func (m *model) takeEvent(key table.Key, item table.Item) {
	e, err := table.DecodeEvent(item)
	if err != nil {
		m.fail("an event cannot be decoded: %w", err)
		return
	}
	switch e := e.(type) {
	case events.TransactionPosted:
		m.headers[e.ID], m.headerStamps[e.ID] = e, m.stamp
		m.checkFinal(e)
		m.takeHeader(e)
	case events.PostingRecorded:
		k := pair{Account: e.Account, Asset: e.Asset}
		inner(m.postings, k)[e.ID] = e
		m.stored[k] = m.plus(m.stored[k], sumsOf(e))
		m.late[e.ID] = isLate(e)
		m.takePosting(k, e)
	case events.AccountChanged:
		m.takeChange(e)
	case events.PeriodClosed:
		m.takeClosing(e)
	case events.HoldEnded:
		m.takeEnd(e)
	case events.TransactionReversed:
		m.reversals[e.Transaction] = append(m.reversals[e.Transaction], e)
	case events.AccountGrouped:
		m.groups = append(m.groups, strings.Join(e.Groups, " "))
	case events.MemberGranted:
		m.roles = append(m.roles, string(e.Role))
	}
}

// inner returns the map of a key, and makes it if it is missing.
func inner[K, L comparable, V any](m map[K]map[L]V, of K) map[L]V {
	if m[of] == nil {
		m[of] = map[L]V{}
	}
	return m[of]
}

// noSum replaces a number that cannot be parsed. No sum has this value, so the check that uses it fails.
const noSum = -1 << 63

func int64Of(a events.Amount) int64 {
	n, err := strconv.ParseInt(a.String(), 10, 64)
	if err != nil {
		return noSum
	}
	return n
}

func text(item table.Item, name string) string {
	return table.TextOf(item[name])
}

// number returns a numeric attribute; 0 if it is missing.
func number(item table.Item, name string) int64 {
	n, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	amount, err := events.ParseAmount(n.Value, events.FoldedDigits)
	if err != nil {
		return noSum
	}
	return int64Of(amount)
}
