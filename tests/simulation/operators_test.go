package simulation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// startOperators starts operators that rebuild projections while everything runs.
func (h *history) startOperators() {
	if !h.occurs(Rebuilds, true) {
		return
	}
	count := max(0, h.plan.draw("rebuilds", 0).IntN(5)-2)
	h.startRandomly("rebuild", count, h.knobs.span+time.Minute, func(ctx context.Context, d dice, n int) {
		h.rebuild(ctx, h.startProcess("operator", n), pick(d, accountIDs...), false)
	})
}

// rebuild rebuilds the projections of an account. must: an error fails the history. Before anything was damaged, so does
// a false alarm: an item that should not exist, or a balance that counts more postings than exist.
func (h *history) rebuild(ctx context.Context, p *process, account string, must bool) {
	err := p.rebuilder.Account(ctx, rebuild.Scope{Account: account, DropMissing: must}, func(part rebuild.Report) {
		if !h.damaged && (len(part.Strays) > 0 || errors.Is(part.Err, rebuild.ErrCountsMore)) {
			h.fail("false alarm of a rebuild: %+v", part)
		}
		for range part.Differences {
			h.count("repairs")
		}
		if part.Err != nil && must {
			h.fail("rebuild of %+v: %w", part, part.Err)
		}
	})
	h.observe()
	if err != nil && must {
		h.fail("rebuild of %s: %w", account, err)
	}
}

// damage changes or deletes a projection in a way that the product's code never does.
func (h *history) damage(d dice) {
	m := h.model
	keys := []table.Key{table.Summary.Key(jane), table.Membership.Key(jane, mary)}
	ordered := slices.SortedFunc(maps.Keys(m.balances),
		func(a, b pair) int { return strings.Compare(a.Account+a.Asset, b.Account+b.Asset) })
	for _, k := range ordered {
		keys = append(keys, table.Balance.Key(k.Account, k.Asset), table.Balance.Key(k.Account, k.Asset))
		for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
			keys = append(keys, table.Segment.Key(k.Account, k.Asset, string(through)))
		}
	}
	key := pick(d, keys...)
	item, _ := h.store.Item(key)
	if item == nil {
		return
	}
	item = maps.Clone(item)
	switch d.IntN(5) {
	case 0: // the item is deleted
		if _, err := h.store.DynamoDB().DeleteItem(context.Background(),
			&dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: table.KeyItem(key)}); err != nil {
			h.fail("damage: %w", err)
		}
		return
	case 1: // some counts or sums are wrong
		names := slices.Sorted(maps.Keys(item))
		for _, name := range names {
			if fold, ok := item[name].(*types.AttributeValueMemberM); ok && d.chance(.5) {
				changed := maps.Clone(fold.Value)
				changed[table.AttrCount] = table.Integer(int64(d.IntN(9)))
				item[name] = table.Map(changed)
			}
		}
		if _, ok := item[table.AttrCredits]; ok {
			item[table.AttrCredits] = table.Integer(int64(d.IntN(1000)))
		}
	case 2: // an attribute is missing
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)),
			func(name string) bool { return name == table.AttrPK || name == table.AttrSK })
		delete(item, pick(d, names...))
	case 3: // an attribute has the wrong type
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool {
			return slices.Contains([]string{table.AttrPK, table.AttrSK, table.AttrPK2}, name)
		})
		item[pick(d, names...)] = &types.AttributeValueMemberBOOL{Value: true}
	case 4: // a segment that should not exist
		if len(ordered) == 0 {
			return
		}
		k := pick(d, ordered...)
		ids := slices.Sorted(maps.Keys(m.postings[k]))
		if len(ids) == 0 {
			return
		}
		end := pick(d, ids...)
		if m.segments[k][end].fold.count > 0 {
			return
		}
		item = table.Begin(table.Segment.Key(k.Account, k.Asset, string(end)), table.Segment.Type)
		item[table.AttrThrough] = table.String(string(end))
		for _, name := range []string{table.AttrCredits, table.AttrDebits, table.AttrExpenditure, table.AttrCount} {
			item[name] = table.Integer(int64(d.IntN(3)))
		}
	}
	h.overwrite(item)
}

// overwrite puts an item in a way that the product's code never does.
func (h *history) overwrite(item table.Item) {
	if _, err := h.store.DynamoDB().PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}); err != nil {
		h.fail("damage: %w", err)
	}
}

// startReads starts strong reads at random times. Each must show everything that was acknowledged before it began.
func (h *history) startReads() {
	if !h.plan.has(StrongReads) {
		return
	}
	count := h.plan.draw("strong reads", 0).IntN(40)
	h.startRandomly("strong read", count, h.knobs.span+30*time.Second, func(ctx context.Context, d dice, n int) {
		h.readStrongly(ctx, d, h.startProcess("reader", n))
	})
}

func (h *history) readStrongly(ctx context.Context, d dice, p *process) {
	if d.chance(.3) {
		must := h.model.ackedSoFar()
		account := pick(d, jane, joe)
		listed, err := p.reader.Balances(ctx, account,
			func(asset string) *events.Amount { return h.floor(pair{Account: account, Asset: asset}) },
			projections.Slice{Limit: 10})
		if err != nil || p.dead {
			return // a read without an answer proves nothing
		}
		h.count("strong reads checked")
		h.observe()
		for _, b := range listed.Items {
			h.model.checkRead(b, must)
			h.model.checkBackdated(b.Pair, sums{credits: uint64(int64Of(b.Head.Credits)), debits: uint64(int64Of(b.Head.Debits))})
			delete(must, pair{Account: account, Asset: b.Asset})
		}
		for k, acked := range must {
			if k.Account == account && acked != (sums{}) {
				h.fail("a strong list of the balances of %s lacks %s", account, k.Asset)
			}
		}
		return
	}
	k := pair{Account: pick(d, accountIDs...), Asset: pick(d, usd, aapl)}
	h.readOne(ctx, p, k)
	// Default reads may lag, but what they show must be stored.
	_, page, err := p.lists.Balances(ctx, k.Account, projections.Slice{Limit: 10})
	if err != nil || p.dead {
		return
	}
	h.observe()
	for _, b := range page.Items {
		h.model.checkRead(b, nil)
	}
}

// readOne reads one balance strongly, now and as of a time.
func (h *history) readOne(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	b, err := p.reader.Balance(ctx, k, h.floor(k))
	if err != nil || p.dead {
		return
	}
	h.count("strong reads checked")
	h.observe()
	h.model.checkRead(b, must)
	h.model.checkBackdated(k, sums{credits: uint64(int64Of(b.Head.Credits)), debits: uint64(int64Of(b.Head.Debits))})
	h.readFunds(ctx, p, k)
	h.readPast(ctx, p, k)
}

// readFunds reads the funds of a pair as a refusal does. They contain everything acknowledged, and what was read before.
func (h *history) readFunds(ctx context.Context, p *process, k pair) {
	must := h.model.fundsSoFar(k)
	funds, _, err := p.reader.Funds(ctx, k.Account, k.Asset)
	if err != nil || p.dead {
		return
	}
	h.observe()
	h.model.checkFunds(k, uint64(int64Of(funds)), must)
}

// readPast strongly reads a balance as of an hour from now, which must include everything acknowledged. Such a read
// uses segments and the postings after them, not the stored balance.
func (h *history) readPast(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	was, err := p.past.Balance(ctx, k, p.clock().Add(time.Hour), true)
	if err != nil || p.dead {
		return
	}
	h.count("strong reads checked")
	h.observe()
	h.model.checkRead(projections.Balance{Pair: k, Head: was.Fold}, must)
}

// floor returns the lowest balance that the account's limit allows; nil: unlimited.
func (h *history) floor(k pair) *events.Amount {
	floor := events.Amount{}
	switch {
	case k.Account == bank || k.Account == shop:
		return nil
	case k.Account == joe && k.Asset == usd:
		floor = events.NewAmount(-h.knobs.overdraft)
	}
	return &floor
}
