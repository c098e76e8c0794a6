package simulation

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

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
