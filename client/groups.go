package client

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"ledger.example/events"
)

// Group is a set of accounts. Its members have their role on all of these accounts.
type Group struct {
	ID          string `path:"group" json:"id" is:"ID" in:"same" example:"desk" label:"Group" names:"group"`
	Name        string `json:"name" is:"Text" example:"The desk" flag:"name of the group"`
	Description string `json:"description" is:"Text" example:"Trades for clients" flag:"description of the group"`
	// The time of the registration.
	CreatedAt string `json:"created_at" is:"Time" in:"same" example:"2026-11-21T09:00:00.000000Z" label:"Registered"`
	// Who created it.
	Actor string `json:"actor,omitempty" is:"Actor" in:"same" list:"-" label:"-"`
}

// GroupID names a group.
type GroupID struct {
	Group string `path:"group"`
}

// GroupedAccount is an account in a group.
type GroupedAccount struct {
	Group   string `path:"group" json:"group" is:"ID" example:"desk" names:"group"`
	Account string `path:"account" json:"account" is:"ID" example:"jane" names:"account"`
}

// AccountGroups is an account that was put into a group or taken out, with all its groups.
type AccountGroups struct {
	GroupedAccount
	// All groups of the account, by id.
	Groups []string `json:"groups" is:"ID" most:"10" example:"[\"clients\",\"desk\"]" names:"group"`
}

// GroupTotal is what the accounts of a group hold of one asset.
type GroupTotal struct {
	Asset string `json:"asset" is:"ID" example:"USD" names:"asset"`
	// The number of accounts that hold the asset, or once held it.
	Accounts int `json:"accounts" least:"0" most:"1000" example:"2"`
	Sums
}

// GroupTotals is a page of totals of a group by asset: the sums of its next balances. AddTotals adds up pages. They are
// not a snapshot: the balances are read one by one.
type GroupTotals struct {
	Group string `json:"group" is:"ID" example:"desk" names:"group"`
	List[GroupTotal]
}

// AddTotals adds a page of totals to a sum of earlier pages, which is nil for the first one. Both are by asset, and so
// is the result. Error: events.ErrOverflow.
func AddTotals(sum, page []GroupTotal) ([]GroupTotal, error) {
	sum = slices.Clone(sum)
	for _, more := range page {
		i, isKnown := slices.BinarySearchFunc(sum, more.Asset, func(t GroupTotal, asset string) int {
			return cmp.Compare(t.Asset, asset)
		})
		if !isKnown {
			sum = slices.Insert(sum, i, more)
			continue
		}
		of := &sum[i]
		of.Accounts += more.Accounts
		of.Postings += more.Postings
		for total, amount := range map[*events.Amount]events.Amount{
			&of.Quantity: more.Quantity, &of.NetExpenditure: more.NetExpenditure, &of.Credits: more.Credits,
			&of.Debits: more.Debits, &of.PendingDebits: more.PendingDebits, &of.PendingCredits: more.PendingCredits,
		} {
			var err error
			if *total, err = total.Add(amount); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

const groupPath = "/v1/groups/{group}"

// The operations on groups.
var (
	// A group contains accounts and has members. The role of a member is a role on all accounts of the group. Groups
	// are immutable and cannot contain groups. The same body again gets 200 and the first answer. Another body gets
	// 409. An answer of `GET` can be sent back.
	RegisterGroup = Op[Group, Group]{
		ID: "registerGroup", Method: http.MethodPut, Path: groupPath, Summary: "Register a group", May: admins,
		OK: "The same body was registered before.", Created: "Registered.", Refusals: "group_exists",
	}
	// Strongly consistent.
	GetGroup = Op[GroupID, Group]{
		ID: "getGroup", Path: groupPath, Summary: "Get a group", May: groupViewers, Tagged: true,
	}
	// By id. With `prefix`, only ids that begin with it. New groups may be missing for a moment.
	ListGroups = Op[ByPrefix, List[Group]]{ID: "listGroups", Path: "/v1/groups", Summary: "List groups", May: admins}
	// The request has no body. An account can be in at most 10 groups.
	GroupAccount = Op[GroupedAccount, AccountGroups]{
		ID: "groupAccount", Method: http.MethodPut, Path: groupPath + "/accounts/{account}",
		Summary: "Put an account into a group", May: admins, OK: "The account was already in the group.",
		Created: "The account is in the group.", Refusals: "too_many_groups",
	}
	// The answer is the same if the account is not in the group.
	UngroupAccount = Op[GroupedAccount, AccountGroups]{
		ID: "ungroupAccount", Method: http.MethodDelete, Path: groupPath + "/accounts/{account}",
		Summary: "Take an account out of a group", May: admins, OK: "The account is not in the group.",
	}
	// By account. New changes may be missing for a moment.
	ListGroupAccounts = Op[GroupID, List[GroupedAccount]]{
		ID: "listGroupAccounts", Path: groupPath + "/accounts", Summary: "List a group's accounts", May: groupViewers,
	}
	// The sums of the group's next balances (at most `limit`, in the order of their accounts and assets), by asset. An
	// asset may be on several pages: add up all pages for the totals of the group. The projected balances are read one
	// after the other. The totals are not a snapshot: a transfer within the group may be counted on one side only.
	GetGroupTotals = Op[GroupID, GroupTotals]{
		ID: "getGroupTotals", Path: groupPath + "/balances", Summary: "Get the totals of a group's accounts",
		May: groupViewers,
	}
	// By group. New changes may be missing for a moment.
	ListAccountGroups = Op[AccountID, List[GroupedAccount]]{
		ID: "listAccountGroups", Path: accountPath + "/groups", Summary: "List an account's groups",
		May: viewersOf("groups"),
	}
)

// RegisterGroup registers a group. The same request again succeeds. Errors: those of Send, with the code group_exists.
func (c *Client) RegisterGroup(ctx context.Context, g Group) (Group, Written, error) {
	return written(RegisterGroup.Call(ctx, c, g))
}

// PutInGroup puts an account into a group. The same request again succeeds. Errors: those of Send, with the codes
// group_not_found, account_not_found and too_many_groups.
func (c *Client) PutInGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return written(GroupAccount.Call(ctx, c, GroupedAccount{group, account}))
}

// TakeOutOfGroup takes an account out of a group. It succeeds if the account is not in the group. Errors: those of
// PutInGroup.
func (c *Client) TakeOutOfGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return written(UngroupAccount.Call(ctx, c, GroupedAccount{group, account}))
}

// Group reads a group. Errors: *Error (group_not_found).
func (c *Client) Group(ctx context.Context, id string) (Reply[Group], error) {
	return GetGroup.Call(ctx, c, GroupID{id})
}

// GroupTotals reads one page of the totals of a group's accounts: those of the next limit (1 to PageLimit) balances at
// most. cursor is the NextCursor of the previous page, "" for the first. Errors: *Error (group_not_found).
func (c *Client) GroupTotals(ctx context.Context, group, cursor string, limit int) (Reply[GroupTotals], error) {
	return send[GroupTotals](ctx, c, GetGroupTotals.request(GroupID{group}).page(cursor, limit))
}

// Groups lists the groups whose ids begin with a prefix, "" for all, by id.
func (c *Client) Groups(prefix string) Listing[Group] {
	return Listing[Group]{c, ListGroups.request(ByPrefix{prefix})}
}

// GroupAccounts lists the accounts of a group, by id.
func (c *Client) GroupAccounts(group string) Listing[GroupedAccount] {
	return Listing[GroupedAccount]{c, ListGroupAccounts.request(GroupID{group})}
}

// AccountGroups lists the groups of an account, by id.
func (c *Client) AccountGroups(account string) Listing[GroupedAccount] {
	return Listing[GroupedAccount]{c, ListAccountGroups.request(AccountID{account})}
}
