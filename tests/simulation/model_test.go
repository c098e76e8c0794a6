package simulation

import (
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// pair is one account's holding of one asset.
type pair = events.Pair

// legs are sums of postings of one pair that only grow: what was credited, what was spent or held, and what ended holds
// gave back.
//
// In histories of posts alone each transaction moves a power of two. There the sums are sets: they show which
// transactions are in them, and a sum that counts one twice shows another set.
type legs struct{ credits, debits, returned uint64 }

// areSets reports whether sums show which transactions are in them.
func (m *model) areSets() bool { return m.plan.Mode == "" }

// plus returns what is in a or in b.
func (m *model) plus(a, b legs) legs {
	if m.areSets() {
		return legs{a.credits | b.credits, a.debits | b.debits, 0}
	}
	return legs{a.credits + b.credits, a.debits + b.debits, a.returned + b.returned}
}

// without returns what is in a and not in b.
func (m *model) without(a, b legs) legs {
	if m.areSets() {
		return legs{a.credits &^ b.credits, a.debits &^ b.debits, 0}
	}
	return legs{a.credits - min(a.credits, b.credits), a.debits - min(a.debits, b.debits),
		a.returned - min(a.returned, b.returned)}
}

func (a legs) count() int { return bits.OnesCount64(a.credits) + bits.OnesCount64(a.debits) }

func sumOf(quantity events.Amount) legs {
	n := int64Of(quantity)
	if n < 0 {
		return legs{debits: uint64(-n)}
	}
	return legs{credits: uint64(n)}
}

// model is the ledger in plain Go: what is in the table, and what everything in it must be.
type model struct {
	*history
	mu sync.Mutex

	headers     map[string]events.TransactionPosted
	postings    map[pair]map[events.KSUID]events.PostingRecorded
	there       map[pair]legs // of postings
	acked       map[pair]legs
	ackedIDs    map[pair]map[events.KSUID]legs
	balances    map[pair]balance
	segments    map[pair]map[events.KSUID]segment
	summaries   map[string]summary
	memberships map[string]int64
	roles       []string // mary's, after so many grants
	groups      []string // of jane's account, after so many changes
	spent       map[pair]int64
	unseen      map[pair]map[events.KSUID]events.PostingRecorded // backdated, acknowledged, and not shown yet
	lives
}

func newModel(h *history) *model {
	return &model{
		history: h,
		headers: map[string]events.TransactionPosted{}, postings: map[pair]map[events.KSUID]events.PostingRecorded{},
		there: map[pair]legs{}, acked: map[pair]legs{}, ackedIDs: map[pair]map[events.KSUID]legs{},
		balances: map[pair]balance{}, segments: map[pair]map[events.KSUID]segment{},
		roles: []string{""}, groups: []string{""},
		summaries: map[string]summary{}, memberships: map[string]int64{}, spent: map[pair]int64{},
		unseen: map[pair]map[events.KSUID]events.PostingRecorded{}, lives: newLives(),
	}
}

// observe looks at what has changed in the store, and hands it to the stream.
func (h *history) observe() {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	for _, c := range h.store.Since(h.seen) {
		h.seen++
		h.model.take(c.Key, c.Before, c.After)
		if kind := text(c.After, table.AttrType); kind == table.KindListed || kind == table.KindJournal {
			h.ofLists++
			continue
		}
		h.mu.Lock()
		h.append(c.Key, h.seen-h.ofLists, c.After)
		h.mu.Unlock()
	}
	if h.committing.Load() > 0 {
		return
	}
	h.model.seen()
	if !h.damaged {
		h.model.sound()
	}
}

// take takes in one change.
func (m *model) take(key table.Key, before, after ddb.Item) {
	if _, event := after[table.AttrEventVersion]; m.damaged && !event {
		return // from now on projections are the audit's
	}
	if after == nil {
		m.broken("%v was deleted", key)
		return
	}
	switch text(after, table.AttrType) {
	case table.KindSpend:
		account, asset, _ := table.ParseSpend(key)
		k := pair{Account: account, Asset: asset}
		m.spent[k] = number(after, table.AttrSpent)
		m.guard(k, number(after, table.AttrChange))
	case table.KindCurrent:
		if e, err := ddb.DecodeCurrent(after); err != nil {
			m.broken("what an account is now cannot be read: %w", err)
		} else {
			m.changedTo(e)
		}
	case table.KindBalance, table.KindBalanceWithHolds:
		m.takeBalance(key, after)
	case table.KindSegment, table.KindSegmentWithHolds:
		account, asset, through, _ := table.ParseSegment(key)
		k := pair{Account: account, Asset: asset}
		if m.segments[k] == nil {
			m.segments[k] = map[events.KSUID]segment{}
		}
		m.segments[k][events.KSUID(through)] = segment{after: events.KSUID(text(after, table.AttrAfter)),
			fold: foldOf(after)}
		m.count("segments closed")
	case table.KindSummary:
		account, _ := table.ParseSummary(key)
		m.summaries[account] = summaryOf(after)
	case table.KindMembership, table.KindGrouped:
		newest := number(after, table.AttrNumber)
		if newest < m.memberships[key.SK] {
			m.broken("%s went back from number %d to %d", key.SK, m.memberships[key.SK], newest)
		}
		m.memberships[key.SK] = newest
	case table.KindHold, table.KindOpenHold, table.KindListed, table.KindJournal: // the audit judges them
	default:
		if before != nil {
			m.broken("the event %v was changed", key)
		}
		m.takeEvent(key, after)
	}
}

func (m *model) takeEvent(key table.Key, item ddb.Item) {
	e, err := ddb.DecodeEvent(item)
	if err != nil {
		m.broken("an event that cannot be read: %w", err)
		return
	}
	switch e := e.(type) {
	case events.TransactionPosted:
		m.headers[e.ID] = e
		m.posted(e)
	case events.PostingRecorded:
		k := pair{Account: e.Account, Asset: e.Asset}
		if m.postings[k] == nil {
			m.postings[k] = map[events.KSUID]events.PostingRecorded{}
		}
		m.postings[k][e.ID] = e
		m.there[k] = m.plus(m.there[k], legsOf(e))
		m.recorded(k, e)
	case events.AccountChanged:
		m.changedTo(e)
	case events.HoldEnded:
		m.ended(e)
	case events.TransactionReversed:
		m.reversals[e.Transaction] = append(m.reversals[e.Transaction], e)
	case events.AccountGrouped:
		m.groups = append(m.groups, strings.Join(e.Groups, " "))
	case events.MemberGranted:
		m.roles = append(m.roles, string(e.Role))
	}
}

// noSum is the sum of nothing of ours: the check that it goes into fails.
const noSum = -1 << 63

func int64Of(a events.Amount) int64 {
	n, err := strconv.ParseInt(a.String(), 10, 64)
	if err != nil {
		return noSum
	}
	return n
}

func text(item ddb.Item, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// number reads a number, 0 where there is none.
func number(item ddb.Item, name string) int64 {
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
