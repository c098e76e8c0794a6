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

	"ledger.example/internal/store"
	"ledger.example/projections/repair"
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
	err := p.rebuilder.Account(ctx, repair.Scope{Account: account, DropMissing: must}, func(part repair.Report) {
		if !h.damaged && (len(part.Strays) > 0 || errors.Is(part.Err, repair.ErrCountsMore)) {
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
	keys := []store.Key{store.Summary.Key(jane), store.Membership.Key(jane, mary)}
	ordered := slices.SortedFunc(maps.Keys(m.balances),
		func(a, b pair) int { return strings.Compare(a.Account+a.Asset, b.Account+b.Asset) })
	for _, k := range ordered {
		keys = append(keys, store.Balance.Key(k.Account, k.Asset), store.Balance.Key(k.Account, k.Asset))
		for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
			keys = append(keys, store.Segment.Key(k.Account, k.Asset, string(through)))
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
			&dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: store.KeyItem(key)}); err != nil {
			h.fail("damage: %w", err)
		}
		return
	case 1: // some counts or sums are wrong
		names := slices.Sorted(maps.Keys(item))
		for _, name := range names {
			if fold, ok := item[name].(*types.AttributeValueMemberM); ok && d.chance(.5) {
				changed := maps.Clone(fold.Value)
				changed[store.AttrCount] = store.Integer(int64(d.IntN(9)))
				item[name] = store.Map(changed)
			}
		}
		if _, ok := item[store.AttrCredits]; ok {
			item[store.AttrCredits] = store.Integer(int64(d.IntN(1000)))
		}
	case 2: // an attribute is missing
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)),
			func(name string) bool { return name == store.AttrPK || name == store.AttrSK })
		delete(item, pick(d, names...))
	case 3: // an attribute has the wrong type
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool {
			return slices.Contains([]string{store.AttrPK, store.AttrSK, store.AttrPK2}, name)
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
		item = store.Begin(store.Segment.Key(k.Account, k.Asset, string(end)), store.Segment.Type)
		item[store.AttrThrough] = store.String(string(end))
		for _, name := range []string{store.AttrCredits, store.AttrDebits, store.AttrExpenditure, store.AttrCount} {
			item[name] = store.Integer(int64(d.IntN(3)))
		}
	}
	h.overwrite(item)
}

// overwrite puts an item in a way that the product's code never does.
func (h *history) overwrite(item store.Item) {
	if _, err := h.store.DynamoDB().PutItem(context.Background(),
		&dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}); err != nil {
		h.fail("damage: %w", err)
	}
}
