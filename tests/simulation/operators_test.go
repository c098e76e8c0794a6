package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
)

// startOperators lets operators rebuild projections while everything runs.
func (h *history) startOperators() {
	if !h.meets(Rebuilds, true) {
		return
	}
	for n := range max(0, h.plan.draw("rebuilds", 0).IntN(5)-2) {
		d := h.plan.draw("rebuild", uint64(n))
		begin := d.between(0, h.knobs.span+time.Minute)
		h.callers.Go(func() {
			if h.sleep(begin) {
				h.rebuild(as(fmt.Sprintf("operator %d", n)), h.born("operator", n), pick(d, holders...), false)
			}
		})
	}
}

// rebuild rebuilds an account.
func (h *history) rebuild(ctx context.Context, p *process, account string, must bool) {
	err := p.rebuilder.Account(ctx, repair.Scope{Account: account, DropMissing: true}, func(part repair.Report) {
		h.stats.Rebuilt += len(part.Differences)
		if part.Err != nil && must {
			h.broken("rebuild of %+v: %w", part, part.Err)
		}
	})
	h.observe()
	if err != nil && must {
		h.broken("rebuild of %s: %w", account, err)
	}
}

// finish rebuilds what the stream lost and what somebody damages, and checks that everything is exact.
func (h *history) finish() {
	h.observe()
	d := h.plan.draw("damage", 0)
	damaged, audited := h.meets(Thrown, d.chance(.25)), d.chance(.05)
	defer func() {
		if audited && h.err == nil {
			h.audit()
		}
	}()
	if h.forgotten == 0 && !damaged {
		h.askAgain()
		h.endAgain()
		h.inOneTransaction()
		h.model.exact()
		return
	}
	if damaged {
		h.damaged = true
		for range 1 + d.IntN(4) {
			h.damage(d)
		}
		h.observe()
	}
	for _, account := range holders {
		h.rebuild(as("rebuild at rest"), h.born("rebuild at rest", 0), account, true)
	}
	h.damaged = false
	h.observe()
	h.askAgain()
	h.endAgain()
	h.inOneTransaction()
	h.model.exact()
}

// listAll rebuilds the lists of transactions and the journal, as records were lost.
func (h *history) listAll() {
	v, quiet := views.NewViews(h.store.DynamoDB(), tableName), slog.New(slog.DiscardHandler)
	err := repair.New(repair.Config{
		Views: v, Lists: v, Journal: projections.NewLister(v, nil, nil, quiet), ListsOnly: true, Log: quiet,
	}).Run(as("rebuild of lists"))
	if err != nil {
		h.broken("rebuild of lists: %w", err)
	}
}

// audit asks the auditor, who shares no code with anybody here. It takes longer than a history.
func (h *history) audit() {
	h.count(&h.stats.Audited)
	if h.forgotten > 0 {
		h.listAll()
	}
	report, err := audit.New(audit.Options{
		Store: h.store.DynamoDB(), Table: tableName, Segments: 1, Findings: 3,
		Pause: func(context.Context, time.Duration) error { return nil },
	}).Run(context.Background())
	brokenOff := report.ByCode[audit.GuardBehind] // changes that no request finished
	if err != nil || report.Counts.Findings > brokenOff || report.Unsettled > 0 {
		h.broken("the audit finds %+v (%w)", report, err)
	}
}

// damage does something to a projection that no code of ours does.
func (h *history) damage(d dice) {
	client := h.store.DynamoDB()
	put := func(item ddb.Item) {
		if _, err := client.PutItem(context.Background(),
			&dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}); err != nil {
			h.broken("damage: %w", err)
		}
	}
	m := h.model
	keys := []table.Key{table.SummaryKey(jane), table.MembershipKey(jane, mary)}
	ordered := slices.SortedFunc(maps.Keys(m.balances),
		func(a, b pair) int { return strings.Compare(a.Account+a.Asset, b.Account+b.Asset) })
	for _, k := range ordered {
		keys = append(keys, table.BalanceKey(k.Account, k.Asset), table.BalanceKey(k.Account, k.Asset))
		for _, through := range slices.Sorted(maps.Keys(m.segments[k])) {
			keys = append(keys, table.SegmentKey(k.Account, k.Asset, string(through)))
		}
	}
	key := pick(d, keys...)
	item, _ := h.store.Item(key)
	if item == nil {
		return
	}
	item = maps.Clone(item)
	switch d.IntN(5) {
	case 0: // lost
		if _, err := client.DeleteItem(context.Background(),
			&dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: ddb.Key(key)}); err != nil {
			h.broken("damage: %w", err)
		}
		return
	case 1: // another figure
		names := slices.Sorted(maps.Keys(item))
		for _, name := range names {
			if fold, ok := item[name].(*types.AttributeValueMemberM); ok && d.chance(.5) {
				changed := maps.Clone(fold.Value)
				changed[table.AttrCount] = ddb.Integer(int64(d.IntN(9)))
				item[name] = ddb.Map(changed)
			}
		}
		if _, ok := item[table.AttrCredits]; ok {
			item[table.AttrCredits] = ddb.Integer(int64(d.IntN(1000)))
		}
	case 2: // an attribute less
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)),
			func(name string) bool { return name == table.AttrPK || name == table.AttrSK })
		delete(item, pick(d, names...))
	case 3: // an attribute of another type
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool {
			return slices.Contains([]string{table.AttrPK, table.AttrSK, table.AttrPK2}, name)
		})
		item[pick(d, names...)] = &types.AttributeValueMemberBOOL{Value: true}
	case 4: // a segment that ends where none should
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
		item = ddb.Key(table.SegmentKey(k.Account, k.Asset, string(end)))
		item[table.AttrType] = ddb.String(table.KindSegment)
		item[table.AttrThrough] = ddb.String(string(end))
		for _, name := range []string{table.AttrCredits, table.AttrDebits, table.AttrExpenditure, table.AttrCount} {
			item[name] = ddb.Integer(int64(d.IntN(3)))
		}
	}
	put(item)
}

// takeDamaged takes in a change while a projection is damaged: nothing is checked.
func (m *model) takeDamaged(key table.Key, after ddb.Item) {
	if account, asset, ok := table.ParseBalance(key); ok {
		k := pair{Account: account, Asset: asset}
		if delete(m.balances, k); after != nil {
			m.balances[k] = balanceOf(after)
		}
	}
	if account, asset, through, ok := table.ParseSegment(key); ok {
		k := pair{Account: account, Asset: asset}
		if m.segments[k] == nil {
			m.segments[k] = map[events.KSUID]segment{}
		}
		if delete(m.segments[k], events.KSUID(through)); after != nil {
			m.segments[k][events.KSUID(through)] = segment{after: events.KSUID(text(after, table.AttrAfter)),
				fold: foldOf(after)}
		}
	}
	if account, ok := table.ParseSummary(key); ok {
		if delete(m.summaries, account); after != nil {
			m.summaries[account] = summaryOf(after)
		}
	}
	_, _, isMembership := table.ParseMembership(key)
	_, _, isPlace := table.ParseGrouped(key)
	if (isMembership || isPlace) && after != nil {
		m.memberships[key.SK] = int64(unsigned(after, table.AttrNumber))
	}
}

const mary = "mary" // who is given and taken a role on jane's account

// startMembers grants and revokes one user's role on an account, by several callers at once.
func (h *history) startMembers() {
	changes := h.plan.draw("memberships", 0).IntN(30)
	for n := range changes {
		d := h.plan.draw("membership", uint64(n))
		begin := d.between(0, h.knobs.span)
		role := pick(d, "", events.RoleViewer, events.RoleOwner)
		ctx := as(fmt.Sprintf("member change %d", n))
		h.callers.Go(func() {
			if h.sleep(begin) {
				h.changeRole(ctx, d, role)
			}
		})
	}
}

func (h *history) changeRole(ctx context.Context, d dice, role events.Role) {
	for range 10 {
		since := h.model.grants()
		_, err, died := perform(h, d.IntN(len(h.commands)), func(on *process) (bool, error) {
			if role == "" {
				return false, on.ledger.Revoke(ctx, ledger.RevokeMember{Account: jane, User: mary, Actor: "somebody"})
			}
			return on.ledger.Grant(ctx, ledger.GrantMember{Account: jane, User: mary, Role: role, Actor: "somebody"})
		})
		if err == nil && !died {
			h.observe()
			h.model.changed(string(role), since)
			return
		}
		if h.plan.has(Abandon) && d.chance(.2) || !h.sleep(d.between(0, 10*time.Second)) {
			return
		}
	}
}
