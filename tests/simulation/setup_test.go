package simulation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// Assets and accounts. The bank is unlimited and funds everybody. Jane has no overdraft. Joe has one in USD. The shop
// is unlimited and is paid by everybody.
const (
	usd, aapl             = "USD", "AAPL"
	bank, jane, joe, shop = "bank", "jane", "joe", "shop"
)

// tier is the indexed metadata key, and tiers are its values. joe has the first one from the beginning.
const tier = "tier"

var indexed, tiers = []string{tier}, []string{"gold", "silver"}

var accountIDs = []string{bank, jane, joe, shop}

// mary is granted a role on jane's account, and loses it again. The account is put into groups and taken out of them.
const mary = "mary"

var groupIDs = []string{"blue", "green", "red"}

// setUp creates the table, the assets, the accounts and the groups, without faults.
func (h *history) setUp() error {
	if err := h.openStore(); err != nil {
		return err
	}
	h.faultsOff = true
	defer func() { h.faultsOff = false }()
	p := h.startProcess(setupProcess, 0)
	ctx := as(setupProcess)
	for _, d := range h.definitions() {
		if _, err := d.define(ctx, p.ledger, d.name); err != nil {
			return err
		}
	}
	h.model.noteOpened()
	h.rebuildAll(false) // the stream begins after these events
	for n := range h.knobs.processes {
		h.commandProcesses = append(h.commandProcesses, h.startProcess("command", n))
	}
	return nil
}

// definition is an asset, an account or a group. define defines it with a name.
type definition struct {
	name   string
	exists ledger.Code // refuses another name
	define func(ctx context.Context, in *ledger.Ledger, name string) (created bool, err error)
}

// definitions returns all definitions.
func (h *history) definitions() (all []definition) {
	for _, r := range []ledger.RegisterAsset{{ID: usd, Scale: 2}, {ID: aapl, Currency: usd}} {
		all = append(all, definition{r.ID, ledger.CodeAssetExists,
			func(ctx context.Context, in *ledger.Ledger, name string) (created bool, err error) {
				r.Name, r.Actor = name, "somebody"
				_, created, err = in.RegisterAsset(ctx, r)
				return created, err
			}})
	}
	for _, r := range []ledger.OpenAccount{
		{ID: bank, Overdraft: events.Overdraft{Unlimited: true}}, {ID: jane, Rates: h.ratesOf(jane)},
		{ID: shop, Overdraft: events.Overdraft{Unlimited: true}},
		{ID: joe, Metadata: map[string]string{tier: tiers[0]}, Rates: h.ratesOf(joe),
			Overdraft: events.Overdraft{Limits: map[string]events.Amount{usd: events.NewAmount(h.knobs.overdraft)}}},
	} {
		all = append(all, definition{r.ID, ledger.CodeAccountExists,
			func(ctx context.Context, in *ledger.Ledger, name string) (created bool, err error) {
				r.Name, r.Actor = name, "somebody"
				_, created, err = in.OpenAccount(ctx, r)
				return created, err
			}})
	}
	for _, id := range groupIDs {
		all = append(all, definition{id, ledger.CodeGroupExists,
			func(ctx context.Context, in *ledger.Ledger, name string) (created bool, err error) {
				_, created, err = in.RegisterGroup(ctx, ledger.RegisterGroup{ID: id, Name: name, Actor: "somebody"})
				return created, err
			}})
	}
	return all
}

// startDefinitions starts callers that define something again, with its own name or another one. Nothing changes for
// the other callers.
func (h *history) startDefinitions() {
	count := h.plan.draw("definitions", 0).IntN(4)
	h.startRandomly("definition", count, h.knobs.span, func(ctx context.Context, d dice, _ int) {
		what := pick(d, h.definitions()...)
		name := pick(d, what.name, "another", "another")
		created, err, died := perform(h, d.IntN(len(h.commandProcesses)), func(on *process) (created bool, err error) {
			return what.define(ctx, on.ledger, name)
		})
		e, isRefused := errors.AsType[*ledger.Error](err)
		switch {
		case died || isRefused && slices.Contains(retried, e.Code):
		case isRefused && e.Code == what.exists && name != what.name:
			h.count("other definitions")
		case created || err != nil || name != what.name:
			h.fail("%s was defined again as %q: %t, %w", what.name, name, created, err)
		}
	})
}

// startRandomly starts count goroutines, each at a random time within the given duration.
func (h *history) startRandomly(what string, count int, within time.Duration,
	do func(ctx context.Context, d dice, n int)) {
	for n := range count {
		d := h.plan.draw(what, uint64(n))
		begin := d.between(0, within)
		h.callers.Go(func() {
			if h.sleep(begin) {
				do(as(fmt.Sprintf("%s %d", what, n)), d, n)
			}
		})
	}
}

// startAccessChanges starts callers that grant and revoke mary's role, and put jane's account into groups and take it
// out.
func (h *history) startAccessChanges() {
	if !h.occurs(Memberships, true) {
		return
	}
	d := h.plan.draw("register", 0)
	h.startRandomly("membership", d.IntN(30), h.knobs.span, func(ctx context.Context, d dice, _ int) {
		role := pick(d, "", events.RoleViewer, events.RoleOwner)
		h.retryChange(d, &h.model.roles, func(on *process) (now string, err error) {
			if role == "" {
				return "", on.ledger.Revoke(ctx, ledger.RevokeMember{Account: jane, User: mary, Actor: "somebody"})
			}
			_, err = on.ledger.Grant(ctx, ledger.GrantMember{Account: jane, User: mary, Role: role, Actor: "somebody"})
			return string(role), err
		})
	})
	h.startRandomly("group", d.IntN(20), h.knobs.span, func(ctx context.Context, d dice, _ int) {
		r := ledger.GroupAccount{Group: pick(d, groupIDs...), Account: jane, Out: d.chance(.4), Actor: "somebody"}
		h.retryChange(d, &h.model.groups, func(on *process) (now string, err error) {
			groups, _, err := on.ledger.GroupAccount(ctx, r)
			if err == nil && slices.Contains(groups, r.Group) == r.Out {
				h.fail("%+v was acknowledged with the groups %q", r, groups)
			}
			return strings.Join(groups, " "), err
		})
	})
}

// retryChange calls change until it is acknowledged. The acknowledged state must be the one that was current when the
// call began, or a later one. states are the model's, in order.
func (h *history) retryChange(d dice, states *[]string, change func(on *process) (now string, err error)) {
	m := h.model
	for range 10 {
		m.mu.Lock()
		since := len(*states) - 1
		m.mu.Unlock()
		now, err, died := perform(h, d.IntN(len(h.commandProcesses)), change)
		if err == nil && !died {
			h.observe()
			m.mu.Lock()
			defer m.mu.Unlock()
			if !slices.Contains((*states)[since:], now) {
				m.fail("%q was acknowledged, but the states from number %d on are %q", now, since, (*states)[since:])
			}
			return
		}
		if h.plan.has(Abandon) && d.chance(.2) || !h.sleep(d.between(0, 10*time.Second)) {
			return
		}
	}
}
