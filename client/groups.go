package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"ledger.example/events"
)

// The roles of users, on accounts and in groups.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // also posts
	RoleOwner    = "owner"    // also grants
)

// GroupRequest registers a group. Groups are immutable.
type GroupRequest struct {
	ID          string `json:"-"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Group is a set of accounts. Its members have their role on all of these accounts.
type Group struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAt   string `json:"created_at"`      // RFC 3339
	Actor       string `json:"actor,omitempty"` // who registered it; not in lists
}

// Member is the role of a user on an account or in a group. Exactly one of Account and Group is set.
type Member struct {
	Account string `json:"account,omitempty"`
	Group   string `json:"group,omitempty"`
	User    string `json:"user"`
	Role    string `json:"role"` // "" after a revocation
}

// AccountRole is an account on which a user has a role, directly or through a group.
type AccountRole struct {
	Account string  `json:"account"`
	User    string  `json:"user"`
	Role    string  `json:"role"`
	Through *string `json:"through"` // the group; nil for a role on the account itself
}

// GroupedAccount is an account in a group.
type GroupedAccount struct {
	Group   string `json:"group"`
	Account string `json:"account"`
}

// AccountGroups is the answer to PutInGroup and TakeOutOfGroup.
type AccountGroups struct {
	GroupedAccount
	Groups []string `json:"groups"` // all groups of the account
}

// GroupTotal is what the accounts of a group hold of one asset.
type GroupTotal struct {
	Asset    string `json:"asset"`
	Accounts int    `json:"accounts"` // number of accounts that hold the asset, or once held it
	Sums
}

// GroupTotals is a page of totals by asset: the sums of a group's next balances. AddTotals adds up pages. They are not
// a snapshot: the balances are read one by one.
type GroupTotals struct {
	Group string `json:"group"`
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

// RegisterGroup registers a group. The same request again succeeds. Errors: those of Send, with the code group_exists.
func (c *Client) RegisterGroup(ctx context.Context, g GroupRequest) (Group, Written, error) {
	return set(ctx, c, http.MethodPut, g, func(is Group) bool { return is.ID == g.ID }, "groups", g.ID)
}

// PutInGroup puts an account into a group. The same request again succeeds. Errors: those of Send, with the codes
// group_not_found, account_not_found and too_many_groups.
func (c *Client) PutInGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return c.grouped(ctx, http.MethodPut, group, account)
}

// TakeOutOfGroup takes an account out of a group. It succeeds if the account is not in the group. Errors: those of
// PutInGroup.
func (c *Client) TakeOutOfGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return c.grouped(ctx, http.MethodDelete, group, account)
}

func (c *Client) grouped(ctx context.Context, method, group, account string) (AccountGroups, Written, error) {
	isIt := func(g AccountGroups) bool { return g.GroupedAccount == GroupedAccount{group, account} }
	return set(ctx, c, method, nil, isIt, "groups", group, "accounts", account)
}

// Grant grants a role on an account or in a group. It replaces the role that the user has there. Errors: those of Send,
// with the codes account_not_found and group_not_found.
func (c *Client) Grant(ctx context.Context, m Member) (Member, Written, error) {
	body := struct {
		Role string `json:"role"`
	}{m.Role}
	return set(ctx, c, http.MethodPut, body, m.isOf, m.parts()...)
}

// Revoke revokes a user's role on an account or in a group, and ignores m.Role. It succeeds if the user has no role
// there. Errors: those of Grant.
func (c *Client) Revoke(ctx context.Context, m Member) (Member, Written, error) {
	return set(ctx, c, http.MethodDelete, nil, m.isOf, m.parts()...)
}

// isOf reports whether m and other have the same user and the same account or group.
func (m Member) isOf(other Member) bool {
	other.Role = m.Role
	return m == other
}

// parts returns the parts of the path of a membership.
func (m Member) parts() []string {
	if m.Group != "" {
		return []string{"groups", m.Group, "members", m.User}
	}
	return []string{"accounts", m.Account, "members", m.User}
}

// set sends a PUT or DELETE. isIt reports whether an answer is about the resource at the path.
func set[T any](
	ctx context.Context, c *Client, method string, body any, isIt func(T) bool, parts ...string,
) (value T, w Written, err error) {
	path, err := segments(parts...)
	if err != nil {
		return value, w, err
	}
	k := call{method: method, path: path, id: parts[len(parts)-1], resources: []string{path}}
	for i := 0; i+2 < len(parts); i += 2 { // the account and group in the path, which must exist
		parent, _ := segments(parts[i : i+2]...)
		k.resources = append(k.resources, parent)
	}
	if body != nil {
		if k.body, err = json.Marshal(body); err != nil {
			return value, w, err
		}
	}
	value, r, err := ask(ctx, c, k, matches(path, isIt))
	return value, Written{New: isNew(k, r), Raw: r.body}, err
}

// Group reads a group. Errors: *Error (group_not_found).
func (c *Client) Group(ctx context.Context, id string) (Reply[Group], error) {
	return get[Group](ctx, c, nil, "groups", id)
}

// GroupTotals reads one page of the totals of a group's accounts: those of the next limit (1 to PageLimit) balances at
// most. cursor is the NextCursor of the previous page, "" for the first. Errors: *Error (group_not_found).
func (c *Client) GroupTotals(ctx context.Context, group, cursor string, limit int) (Reply[GroupTotals], error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return get[GroupTotals](ctx, c, query, "groups", group, "balances")
}

// Groups lists the groups whose ids begin with a prefix, "" for all, by id.
func (c *Client) Groups(prefix string) Listing[Group] {
	return listing[Group](c, "prefix", prefix, "groups")
}

// GroupAccounts lists the accounts of a group, by id.
func (c *Client) GroupAccounts(group string) Listing[GroupedAccount] {
	return listing[GroupedAccount](c, "", "", "groups", group, "accounts")
}

// AccountGroups lists the groups of an account, by id.
func (c *Client) AccountGroups(account string) Listing[GroupedAccount] {
	return listing[GroupedAccount](c, "", "", "accounts", account, "groups")
}

// GroupMembers lists the members of a group, by user.
func (c *Client) GroupMembers(group string) Listing[Member] {
	return listing[Member](c, "", "", "groups", group, "members")
}

// Members lists the members of an account, by user.
func (c *Client) Members(account string) Listing[Member] {
	return listing[Member](c, "", "", "accounts", account, "members")
}

// UserGroups lists the groups of a user, by id.
func (c *Client) UserGroups(user string) Listing[Member] {
	return listing[Member](c, "", "", "users", user, "groups")
}

// UserAccounts lists the accounts on which a user has a role: first the direct roles, by account, then the roles
// through groups, by group and account. An account is listed once for each of these roles.
func (c *Client) UserAccounts(user string) Listing[AccountRole] {
	return listing[AccountRole](c, "", "", "users", user, "accounts")
}
