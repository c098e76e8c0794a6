package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"ledger.example/client"
)

const (
	// membersShown is how many members a page shows: each comes with what can be done with the membership.
	membersShown = 25
	// awaitTimeout is how long a form waits until a list shows what it changed, and awaitInterval how often it asks.
	awaitTimeout, awaitInterval = 2 * time.Second, 50 * time.Millisecond
)

var (
	accountField = field{Name: "account", Label: "Account"}
	groupField   = field{Name: "group", Label: "Group"}
	userField    = field{Name: "user", Label: "User", Hint: "as your application knows them"}
	roleField    = field{Name: "role", Label: "Role", Kind: "choice",
		Choices: []string{client.RoleViewer, client.RoleOperator, client.RoleOwner},
		Hint:    "A viewer reads, an operator also posts, an owner also grants."}
)

func registerGroup(ctx context.Context, c *Console, v url.Values) (string, error) {
	g, _, err := c.api.RegisterGroup(ctx, client.GroupRequest{
		ID: v.Get("id"), Name: v.Get("name"), Description: v.Get("description"),
	})
	return pathOf("groups", g.ID), err
}

// place returns what puts an account into a group or takes it out.
func place(
	change func(*client.Client, context.Context, string, string) (client.AccountGroups, client.Written, error),
) sender {
	return func(ctx context.Context, c *Console, v url.Values) (string, error) {
		is, _, err := change(c.api, ctx, v.Get("group"), v.Get("account"))
		if err != nil {
			return "", err
		}
		await(ctx, func(ctx context.Context) (bool, error) {
			now, err := c.api.AccountGroups(is.Account).Page(ctx, "", listed)
			return slices.Contains(now.Value.Data, is.Grouped) == slices.Contains(is.Groups, is.Group), err
		})
		return pathOf("groups", is.Group), nil
	}
}

// member returns what grants or revokes a role on the account or in the group of a form.
func member(
	change func(*client.Client, context.Context, client.Member) (client.Member, client.Written, error),
) sender {
	return func(ctx context.Context, c *Console, v url.Values) (string, error) {
		m := client.Member{Account: v.Get("account"), Group: v.Get("group"), User: v.Get("user"), Role: v.Get("role")}
		is, _, err := change(c.api, ctx, m)
		if err != nil {
			return "", err
		}
		list, path := c.api.Members(is.Account), pathOf("accounts", is.Account)
		if is.Group != "" {
			list, path = c.api.GroupMembers(is.Group), pathOf("groups", is.Group)
		}
		await(ctx, func(ctx context.Context) (bool, error) {
			now, err := list.Page(ctx, "", client.PageLimit)
			at := slices.IndexFunc(now.Value.Data, func(other client.Member) bool { return other.User == is.User })
			return at < 0 && is.Role == "" || at >= 0 && now.Value.Data[at] == is, err
		})
		return path + "#members-title", nil
	}
}

// await waits a little until a list shows what was written, so that the next page does. An error ends it: what was
// written is written.
func await(ctx context.Context, shown func(context.Context) (bool, error)) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	for {
		if is, err := shown(ctx); is || err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(awaitInterval):
		}
	}
}

// members are who have a role on an account or in a group, whose page it is.
type members struct {
	client.List[client.Member]
	Page here
	Of   string // account or group
	ID   string
}

// membersOf reads the page of members that a request asks for.
func membersOf(
	ctx context.Context, r *http.Request, of string, list client.Listing[client.Member],
) (members, error) {
	page, err := list.Page(ctx, r.URL.Query().Get("members"), membersShown)
	return members{page.Value, here{r.URL}, of, r.PathValue("id")}, err
}

// group shows one group: what its accounts have together, its accounts, and who may.
func (c *Console) group(r *http.Request) (view, error) {
	ctx, q, id := r.Context(), r.URL.Query(), r.PathValue("id")
	group, err := c.api.Group(ctx, id)
	if err != nil {
		return view{}, err
	}
	data := struct {
		client.Group
		Totals   client.GroupTotals
		TooLarge string // why there are no totals
		Accounts client.List[client.Grouped]
		Members  members
	}{Group: group.Value}
	totals, err := c.api.GroupTotals(ctx, id, q.Get("totals"), listed)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "group_too_large" {
		data.TooLarge = c.explain(ctx, err)
	} else if err != nil {
		return view{}, err
	}
	data.Totals = totals.Value
	if err := into(ctx, &data.Accounts, c.api.GroupAccounts(id), q.Get("accounts"), listed)(); err != nil {
		return view{}, err
	}
	if data.Members, err = membersOf(ctx, r, "group", c.api.GroupMembers(id)); err != nil {
		return view{}, err
	}
	var assets []string
	for _, t := range data.Totals.Data {
		assets = append(assets, t.Asset)
	}
	return view{name: "group", title: "Group " + id, data: data}, c.units.Load(ctx, assets...)
}

// groups lists the groups whose ids begin with a prefix.
func (c *Console) groups(r *http.Request) (view, error) {
	q := r.URL.Query()
	page, err := c.api.Groups(q.Get("prefix")).Page(r.Context(), q.Get("cursor"), listed)
	return view{name: "groups", title: "Groups", data: struct {
		Groups client.List[client.Group]
		Prefix string
	}{page.Value, q.Get("prefix")}}, err
}
