package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// The roles of users, on accounts and in groups.
const (
	RoleViewer   = "viewer"   // reads
	RoleOperator = "operator" // also posts
	RoleOwner    = "owner"    // also grants
)

// GroupRequest says what a group is. Groups never change.
type GroupRequest struct {
	ID          string `json:"-"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Group holds accounts and has members.
type Group struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CreatedAt   string `json:"created_at"`      // RFC 3339
	Actor       string `json:"actor,omitempty"` // who registered it; not in lists
}

// Member names a user's role on an account or, with Group in its place, in a group.
type Member struct {
	Account string `json:"account,omitempty"`
	Group   string `json:"group,omitempty"`
	User    string `json:"user"`
	Role    string `json:"role"` // "" after a revocation
}

// Reach is an account that a user reaches, with the role there.
type Reach struct {
	Account string  `json:"account"`
	User    string  `json:"user"`
	Role    string  `json:"role"`
	Through *string `json:"through"` // the group; nil for a role on the account itself
}

// Grouped is an account's place in a group.
type Grouped struct {
	Group   string `json:"group"`
	Account string `json:"account"`
}

// AccountGroups is the answer to putting an account into a group or taking it out.
type AccountGroups struct {
	Grouped
	Groups []string `json:"groups"` // all of the account
}

// GroupTotal is what the accounts of a group hold of one asset.
type GroupTotal struct {
	Asset    string `json:"asset"`
	Accounts int    `json:"accounts"` // that hold or held it
	Sums
}

// GroupTotals is a page of totals by asset. They are added up at the request, balance by balance: no snapshot.
type GroupTotals struct {
	Group    string `json:"group"`
	Accounts int    `json:"accounts"` // of the group
	List[GroupTotal]
}

// RegisterGroup registers a group. The same again is no error. Errors: those of Send; *Error has group_exists.
func (c *Client) RegisterGroup(ctx context.Context, g GroupRequest) (Group, Written, error) {
	return set(ctx, c, http.MethodPut, g, func(is Group) bool { return is.ID == g.ID }, "groups", g.ID)
}

// PutInGroup puts an account into a group. The same again is no error. Errors: those of Send; *Error has
// group_not_found, account_not_found, too_many_groups.
func (c *Client) PutInGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return c.grouped(ctx, http.MethodPut, group, account)
}

// TakeOutOfGroup takes an account out of a group. It is no error when it was not in it. Errors: those of PutInGroup.
func (c *Client) TakeOutOfGroup(ctx context.Context, group, account string) (AccountGroups, Written, error) {
	return c.grouped(ctx, http.MethodDelete, group, account)
}

func (c *Client) grouped(ctx context.Context, method, group, account string) (AccountGroups, Written, error) {
	isIt := func(g AccountGroups) bool { return g.Grouped == Grouped{group, account} }
	return set(ctx, c, method, nil, isIt, "groups", group, "accounts", account)
}

// Grant gives a user the role that m says, on its account or in its group, in place of any other. Errors: those of
// Send; *Error has account_not_found, group_not_found.
func (c *Client) Grant(ctx context.Context, m Member) (Member, Written, error) {
	body := struct {
		Role string `json:"role"`
	}{m.Role}
	return set(ctx, c, http.MethodPut, body, m.isOf, m.parts()...)
}

// Revoke takes away a user's role on m's account or in its group. It is no error when there was none. Errors: those of
// Grant.
func (c *Client) Revoke(ctx context.Context, m Member) (Member, Written, error) {
	return set(ctx, c, http.MethodDelete, nil, m.isOf, m.parts()...)
}

// isOf reports whether another membership is of the same user and the same account or group.
func (m Member) isOf(other Member) bool {
	other.Role = m.Role
	return m == other
}

// parts are those of the path of a membership.
func (m Member) parts() []string {
	if m.Group != "" {
		return []string{"groups", m.Group, "members", m.User}
	}
	return []string{"accounts", m.Account, "members", m.User}
}

// set makes what stands at a path what the body says. isIt reports whether an answer is about that.
func set[T any](
	ctx context.Context, c *Client, method string, body any, isIt func(T) bool, parts ...string,
) (value T, w Written, err error) {
	path, err := segments(parts...)
	if err != nil {
		return value, w, err
	}
	k := call{method: method, path: path, id: parts[len(parts)-1], about: []string{path}}
	for i := 0; i+2 < len(parts); i += 2 { // what the path names: whether it exists, an earlier send may change
		named, _ := segments(parts[i : i+2]...)
		k.about = append(k.about, named)
	}
	if body != nil {
		if k.body, err = json.Marshal(body); err != nil {
			return value, w, err
		}
	}
	value, r, err := ask(ctx, c, k, about(path, isIt))
	return value, Written{New: isNew(k, r), Raw: r.body}, err
}

// Group reads a group. Errors: *Error (group_not_found).
func (c *Client) Group(ctx context.Context, id string) (Reply[Group], error) {
	return get[Group](ctx, c, nil, "groups", id)
}

// GroupTotals reads one page of what a group's accounts hold, by asset, with at most limit (1 to PageLimit) assets.
// Errors: *Error (group_not_found, group_too_large).
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
func (c *Client) GroupAccounts(group string) Listing[Grouped] {
	return listing[Grouped](c, "", "", "groups", group, "accounts")
}

// AccountGroups lists the groups of an account, by id.
func (c *Client) AccountGroups(account string) Listing[Grouped] {
	return listing[Grouped](c, "", "", "accounts", account, "groups")
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

// UserAccounts lists the accounts that a user reaches: first by roles on them, by account, then through groups, by
// group and account. An account comes once for each way to it.
func (c *Client) UserAccounts(user string) Listing[Reach] {
	return listing[Reach](c, "", "", "users", user, "accounts")
}
