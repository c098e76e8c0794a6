package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Assets.

func showAsset(e events.AssetRegistered) client.Asset {
	return client.Asset{
		ID: e.ID, Name: e.Name, Description: e.Description, Scale: e.Scale, Currency: e.Currency,
		CreatedAt: events.FormatTime(e.At), Actor: e.Actor,
	}
}

func (r *request) registerAsset(in *client.Asset) ledger.RegisterAsset {
	return ledger.RegisterAsset{
		ID: in.ID, Name: in.Name, Description: in.Description, Scale: in.Scale, Currency: in.Currency, Actor: r.actor,
	}
}

// Accounts.

// showAccount shows an account. An absent profile is shown as {}.
func showAccount(e ledger.Account) client.Account {
	return client.Account{
		ID: e.ID, Name: e.Name, Profile: json.RawMessage(cmp.Or(e.Profile, "{}")),
		Overdraft: showOverdraft(e.Overdraft), Metadata: e.Metadata, Rates: showRates(e.Rates),
		State: string(e.State), Version: e.Version, CreatedAt: events.FormatTime(e.OpenedAt), Actor: e.OpenedBy,
	}
}

func showHolder(h projections.Holder) client.Account {
	return showAccount(ledger.NewAccount(*h.Opened, h.Newest))
}

// showOverdraft shows an overdraft policy. Without limits, Limits is nil.
func showOverdraft(o events.Overdraft) client.Overdraft {
	shown := client.Overdraft{Unlimited: o.Unlimited}
	if len(o.Limits) > 0 {
		shown.Limits = o.Limits
	}
	return shown
}

func (r *request) openAccount(in *client.Account) ledger.OpenAccount {
	return ledger.OpenAccount{
		ID: in.ID, Name: in.Name, Profile: string(in.Profile), Overdraft: events.Overdraft(in.Overdraft),
		Metadata: in.Metadata, Rates: ratesOf(in.Rates), Actor: r.actor,
	}
}

// showRates shows limits over time. It is not nil.
func showRates(rates []events.Rate) []client.Rate {
	shown := make([]client.Rate, len(rates))
	for i, r := range rates {
		shown[i] = client.Rate{Asset: r.Asset, Per: string(r.Per), Zone: client.Zone(r.Zone), Quantity: r.Quantity}
	}
	return shown
}

// ratesOf returns the limits over time of a request, as an event has them: nil for none.
func ratesOf(given []client.Rate) []events.Rate {
	if len(given) == 0 {
		return nil
	}
	rates := make([]events.Rate, len(given))
	for i, r := range given {
		rates[i] = events.Rate{Asset: r.Asset, Per: events.Per(r.Per), Zone: string(r.Zone), Quantity: r.Quantity}
	}
	return rates
}

// rates reads a page of the limits over time of an account, with what is used of each.
func (a *api) rates(r *request, in *client.AccountID, s projections.Slice) (
	page projections.Page[ledger.UsedRate], err error,
) {
	var more bool
	page.Items, more, err = a.config.Resources.Rates(r.ctx(), in.Account, s.After, s.Limit)
	if more {
		page.Next = page.Items[len(page.Items)-1].Position()
	}
	return page, err
}

func showUsedRate(u ledger.UsedRate) client.UsedRate {
	return client.UsedRate{
		Rate: showRates([]events.Rate{u.Rate})[0], Used: u.Used, Available: u.Available,
		OpensAt: events.FormatTime(u.OpensAt),
	}
}

// Groups, and the accounts in them.

func showGroup(e events.GroupRegistered) client.Group {
	return client.Group{
		ID: e.ID, Name: e.Name, Description: e.Description, CreatedAt: events.FormatTime(e.At), Actor: e.Actor,
	}
}

func (r *request) registerGroup(in *client.Group) ledger.RegisterGroup {
	return ledger.RegisterGroup{ID: in.ID, Name: in.Name, Description: in.Description, Actor: r.actor}
}

func showGrouped(g projections.GroupedAccount) client.GroupedAccount {
	return client.GroupedAccount{Group: g.Group, Account: g.Account}
}

// grouping returns what puts an account into a group or, if out is true, takes it out.
func grouping(out bool) func(*request, *client.GroupedAccount) ledger.GroupAccount {
	return func(r *request, in *client.GroupedAccount) ledger.GroupAccount {
		return ledger.GroupAccount{Group: in.Group, Account: in.Account, Out: out, Actor: r.actor}
	}
}

// group answers 201 if it put the account into the group, and 200 if the account is already there or was taken out.
func (a *api) group(r *request, c ledger.GroupAccount) (reply, error) {
	groups, changed, err := a.config.Commands.GroupAccount(r.ctx(), c)
	return written(changed && !c.Out, "", showGroups(c.Group, c.Account, groups)), err
}

// showGroups shows an account that was put into a group or taken out, with all its groups.
func showGroups(group, account string, all []string) client.AccountGroups {
	of := client.GroupedAccount{Group: group, Account: account}
	return client.AccountGroups{GroupedAccount: of, Groups: append([]string{}, all...)}
}

func showTotal(t projections.Total) client.GroupTotal {
	return client.GroupTotal{Asset: t.Asset, Accounts: t.Accounts, Sums: showSums(t.Fold)}
}

// ofGroup returns the route of a list of totals, whose pages name their group.
func ofGroup(r route) route {
	pages := r.handle
	r.handle = func(a *api, r *request) (reply, error) {
		out, err := pages(a, r)
		if totals, ok := out.body.(client.List[client.GroupTotal]); ok {
			out.body = client.GroupTotals{Group: r.ids["group"], List: totals}
		}
		return out, err
	}
	return r
}

// Members of accounts and of groups.

func showMember(m projections.Membership) client.AccountMember {
	is := client.Membership{Account: m.Account, User: m.User, Role: string(m.Role)}
	return client.AccountMember{Membership: is, Granted: showGranted(m)}
}

func showGroupMember(m projections.Membership) client.GroupMember {
	return client.GroupMember{GroupMembership: showGroupMembership(m), Granted: showGranted(m)}
}

func showGroupMembership(m projections.Membership) client.GroupMembership {
	return client.GroupMembership{Group: m.Group, User: m.User, Role: string(m.Role)}
}

func showGranted(m projections.Membership) client.Granted {
	return client.Granted{GrantedBy: m.GrantedBy, GrantedAt: m.GrantedAt}
}

// grantedToOwners returns the route of a list of members that shows only owners and administrators who granted a role,
// and when. granted returns where an item has it.
func grantedToOwners[T any](r route, granted func(*T) *client.Granted) route {
	pages := r.handle
	r.tells = access.Owner
	r.handle = func(a *api, r *request) (reply, error) {
		out, err := pages(a, r)
		if members, ok := out.body.(client.List[T]); ok && !r.caller.Admin && r.right.Role < access.Owner {
			for i := range members.Data {
				*granted(&members.Data[i]) = client.Granted{}
			}
		}
		return out, err
	}
	return r
}

func showAccountRole(m projections.AccountRole) client.AccountRole {
	return client.AccountRole{Account: m.Account, User: m.User, Role: string(m.Role), Through: orNull(m.Through)}
}

func (r *request) grantMember(in *client.Membership) ledger.GrantMember {
	return ledger.GrantMember{
		Account: in.Account, User: in.User, Role: events.Role(in.Role), Actor: r.actor, IfAbsent: r.ifAbsent,
	}
}

func (r *request) grantGroupMember(in *client.GroupMembership) ledger.GrantMember {
	return ledger.GrantMember{
		Group: in.Group, User: in.User, Role: events.Role(in.Role), Actor: r.actor, IfAbsent: r.ifAbsent,
	}
}

// grant grants a role. It answers 201 for the user's first role there, otherwise 200.
func (a *api) grant(r *request, c ledger.GrantMember) (reply, error) {
	var created bool
	err := r.withRight(func(by ledger.Authority) (err error) {
		c.By = by
		created, err = a.config.Commands.Grant(r.ctx(), c)
		return err
	})
	return written(created, "", showRole(c.Account, c.Group, c.User, c.Role)), err
}

func (r *request) revokeMember(in *client.RevokedMembership) ledger.RevokeMember {
	return ledger.RevokeMember{Account: in.Account, User: in.User, Actor: r.actor}
}

func (r *request) revokeGroupMember(in *client.RevokedGroupMembership) ledger.RevokeMember {
	return ledger.RevokeMember{Group: in.Group, User: in.User, Actor: r.actor}
}

// revoke revokes a role. The answer is the same if the user has no role.
func (a *api) revoke(r *request, c ledger.RevokeMember) (reply, error) {
	err := r.withRight(func(by ledger.Authority) error {
		c.By = by
		return a.config.Commands.Revoke(r.ctx(), c)
	})
	return written(false, "", showRole(c.Account, c.Group, c.User, "")), err
}

// showRole shows a role on an account or in a group. It is null after a revocation.
func showRole(account, group, user string, role events.Role) any {
	if group != "" {
		return client.RevokedGroupMembership{Group: group, User: user, Role: orNull(string(role))}
	}
	return client.RevokedMembership{Account: account, User: user, Role: orNull(string(role))}
}

// withRight executes a grant on the condition that the caller still has the right that was checked. If the right has
// changed, nothing is written. Then withRight checks the right again and retries, once.
func (r *request) withRight(grant func(by ledger.Authority) error) error {
	by := func() ledger.Authority {
		return ledger.Authority{
			User: r.caller.User, Group: r.right.Group, Grant: r.right.Grant, Groups: r.right.Groups,
		}
	}
	err := grant(by())
	if !errors.Is(err, table.ErrOutdated) {
		return err
	}
	if denied := r.checkRole(r.ctx()); denied != nil {
		return denied
	}
	return grant(by())
}

// Periods.

func showPeriod(e events.PeriodClosed) client.Period {
	return client.Period{
		Number: e.Number, ClosedBefore: events.FormatTime(e.Before), Reason: e.Reason,
		ClosedAt: events.FormatTime(e.At), Actor: e.Actor, FinalAt: events.FormatTime(e.FinalAt()),
	}
}

func (r *request) closePeriod(in *client.PeriodClosing) ledger.ClosePeriod {
	if !isNumber(in.Number) {
		r.failOnce("number", ledger.RuleNext)
	}
	number, _ := strconv.ParseInt(in.Number, 10, 64)
	return ledger.ClosePeriod{Number: number, Before: in.ClosedBefore, Reason: in.Reason, Actor: r.actor}
}

func (a *api) close(r *request, c ledger.ClosePeriod) (reply, error) {
	closed, created, err := a.config.Commands.ClosePeriod(r.ctx(), c)
	return written(created, "", showPeriod(closed)), err
}

// periods reads a page of the closings of the books.
func (a *api) periods(r *request, _ *struct{}, s projections.Slice) (projections.Page[events.PeriodClosed], error) {
	return a.config.Lists.Periods(r.ctx(), s)
}
