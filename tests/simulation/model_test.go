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

// sums are sums of postings of one pair that only grow: what was credited, what was spent or held, and what ended holds
// gave back.
//
// In histories of posts alone each transaction moves a power of two. There the sums are sets: they show which
// transactions are in them, and a sum that counts one twice shows another set.
type sums struct{ credits, debits, returned uint64 }

// sumsAreSets reports whether sums show which transactions are in them.
func (m *model) sumsAreSets() bool { return m.plan.Mode == "" }

// plus returns what is in a or in b.
func (m *model) plus(a, b sums) sums {
	if m.sumsAreSets() {
		return sums{a.credits | b.credits, a.debits | b.debits, 0}
	}
	return sums{a.credits + b.credits, a.debits + b.debits, a.returned + b.returned}
}

// minus returns what is in a and not in b.
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

// model is the ledger in plain Go: what is in the table, and what everything in it must be.
type model struct {
	*history
	mu sync.Mutex

	headers         map[string]events.TransactionPosted
	postings        map[pair]map[events.KSUID]events.PostingRecorded
	stored          map[pair]sums // of postings
	ackedSums       map[pair]sums
	ackedPostings   map[pair]map[events.KSUID]sums
	balances        map[pair]balance
	segments        map[pair]map[events.KSUID]segment
	summaries       map[string]summary
	memberships     map[string]int64
	roles           []string // mary's, after so many grants
	groups          []string // of jane's account, after so many changes
	spent           map[pair]int64
	hiddenBackdated map[pair]map[events.KSUID]events.PostingRecorded // backdated, acknowledged, and not shown yet
	lifecycle
}

func newModel(h *history) *model {
	return &model{
		history: h,
		headers: map[string]events.TransactionPosted{}, postings: map[pair]map[events.KSUID]events.PostingRecorded{},
		stored: map[pair]sums{}, ackedSums: map[pair]sums{}, ackedPostings: map[pair]map[events.KSUID]sums{},
		balances: map[pair]balance{}, segments: map[pair]map[events.KSUID]segment{},
		roles: []string{""}, groups: []string{""},
		summaries: map[string]summary{}, memberships: map[string]int64{}, spent: map[pair]int64{},
		hiddenBackdated: map[pair]map[events.KSUID]events.PostingRecorded{}, lifecycle: newLifecycle(),
	}
}

// observe looks at what has changed in the store, and hands it to the stream.
func (h *history) observe() {
	h.model.mu.Lock()
	defer h.model.mu.Unlock()
	for _, c := range h.store.Since(h.observed) {
		h.observed++
		h.model.take(c.Key, c.Before, c.After)
		if kind := text(c.After, table.AttrType); kind == table.KindListed || kind == table.KindJournal {
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
	}
}

// take takes in one change.
func (m *model) take(key table.Key, before, after ddb.Item) {
	if _, event := after[table.AttrEventVersion]; m.damaged && !event {
		return // from now on projections are the audit's
	}
	if after == nil {
		m.fail("%v was deleted", key)
		return
	}
	switch text(after, table.AttrType) {
	case table.KindSpend:
		account, asset, _ := table.ParseSpend(key)
		k := pair{Account: account, Asset: asset}
		m.spent[k] = number(after, table.AttrSpent)
		m.takeGuard(k, number(after, table.AttrChange))
	case table.KindCurrent:
		if e, err := ddb.DecodeCurrent(after); err != nil {
			m.fail("what an account is now cannot be read: %w", err)
		} else {
			m.takeChange(e)
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
			m.fail("%s went back from number %d to %d", key.SK, m.memberships[key.SK], newest)
		}
		m.memberships[key.SK] = newest
	case table.KindHold, table.KindOpenHold, table.KindListed, table.KindJournal: // the audit judges them
	default:
		if before != nil {
			m.fail("the event %v was changed", key)
		}
		m.takeEvent(key, after)
	}
}

func (m *model) takeEvent(key table.Key, item ddb.Item) {
	e, err := ddb.DecodeEvent(item)
	if err != nil {
		m.fail("an event that cannot be read: %w", err)
		return
	}
	switch e := e.(type) {
	case events.TransactionPosted:
		m.headers[e.ID] = e
		m.takeHeader(e)
	case events.PostingRecorded:
		k := pair{Account: e.Account, Asset: e.Asset}
		if m.postings[k] == nil {
			m.postings[k] = map[events.KSUID]events.PostingRecorded{}
		}
		m.postings[k][e.ID] = e
		m.stored[k] = m.plus(m.stored[k], sumsOf(e))
		m.takePosting(k, e)
	case events.AccountChanged:
		m.takeChange(e)
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
