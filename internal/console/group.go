package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"ledger.example/client"
)

const (
	// membersShown is the number of members per page. Each of them has a form, so it is small.
	membersShown = 25
	// totalsPages is the maximum number of pages of balances that are added up for a page.
	totalsPages = 20
	// A form waits up to awaitTimeout until the list that it changed is up to date, and polls every awaitInterval.
	awaitTimeout, awaitInterval = 2 * time.Second, 50 * time.Millisecond
)

var (
	accountField = field{Name: "account", Label: "Account"}
	groupField   = field{Name: "group", Label: "Group"}
	userField    = field{Name: "user", Label: "User", Hint: "the user id in your application"}
	roleField    = field{Name: "role", Label: "Role", Kind: "choice",
		Choices: []string{client.RoleViewer, client.RoleOperator, client.RoleOwner},
		Hint:    "A viewer reads, an operator also posts, an owner also grants roles."}
)

func registerGroup(ctx context.Context, c *Console, v url.Values) (string, error) {
	g, _, err := c.api.RegisterGroup(ctx, client.GroupRequest{
		ID: v.Get("id"), Name: v.Get("name"), Description: v.Get("description"),
	})
	return pathOf("groups", g.ID), err
}

// groupChange returns the sender that adds an account to a group or removes it.
func groupChange(
	change func(*client.Client, context.Context, string, string) (client.AccountGroups, client.Written, error),
) sender {
	return func(ctx context.Context, c *Console, v url.Values) (string, error) {
		is, _, err := change(c.api, ctx, v.Get("group"), v.Get("account"))
		if err != nil {
			return "", err
		}
		awaitListed(ctx, func(ctx context.Context) (bool, error) {
			now, err := c.api.AccountGroups(is.Account).Page(ctx, "", listLimit)
			return slices.Contains(now.Value.Data, is.GroupedAccount) == slices.Contains(is.Groups, is.Group), err
		})
		return pathOf("groups", is.Group), nil
	}
}

// roleChange returns the sender that grants or revokes a role on an account or in a group.
func roleChange(
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
		awaitListed(ctx, func(ctx context.Context) (bool, error) {
			now, err := list.Page(ctx, "", client.PageLimit)
			at := slices.IndexFunc(now.Value.Data, func(other client.Member) bool { return other.User == is.User })
			return at < 0 && is.Role == "" || at >= 0 && now.Value.Data[at] == is, err
		})
		return path + "#members-title", nil
	}
}

// awaitListed waits until a list shows the change that was written, so that the next page shows it too. It gives up at
// awaitTimeout or at an error: the change itself is stored.
func awaitListed(ctx context.Context, shown func(context.Context) (bool, error)) {
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

// members is a page of the users with a role on an account or in a group.
type members struct {
	client.List[client.Member]
	Page pageURL
	Of   string // "account" or "group"
	ID   string
}

// memberPage reads the page of members at the cursor in the request.
func memberPage(ctx context.Context, r *http.Request, of string, list client.Listing[client.Member]) (members, error) {
	page, err := list.Page(ctx, r.URL.Query().Get("members"), membersShown)
	return members{page.Value, pageURL{r.URL}, of, r.PathValue("id")}, err
}

// group shows one group: its total balances, its accounts and its members.
func (c *Console) group(r *http.Request) (view, error) {
	ctx, q, id := r.Context(), r.URL.Query(), r.PathValue("id")
	group, err := c.api.Group(ctx, id)
	if err != nil {
		return view{}, err
	}
	data := struct {
		client.Group
		Totals   client.List[client.GroupTotal]
		IsPart   bool // the totals are of a part of the balances
		Accounts client.List[client.GroupedAccount]
		Members  members
	}{Group: group.Value}
	if data.Totals, err = c.totals(ctx, id, q.Get("totals")); err != nil {
		return view{}, err
	}
	data.IsPart = q.Get("totals") != "" || data.Totals.NextCursor != nil
	if err := into(ctx, &data.Accounts, c.api.GroupAccounts(id), q.Get("accounts"), listLimit)(); err != nil {
		return view{}, err
	}
	if data.Members, err = memberPage(ctx, r, "group", c.api.GroupMembers(id)); err != nil {
		return view{}, err
	}
	var assets []string
	for _, t := range data.Totals.Data {
		assets = append(assets, t.Asset)
	}
	return view{name: "group", title: "Group " + id, data: data}, c.units.Load(ctx, assets...)
}

// totals adds up pages of a group's balances from a cursor on, until it has listLimit assets or totalsPages pages.
func (c *Console) totals(ctx context.Context, group, cursor string) (sum client.List[client.GroupTotal], err error) {
	for range totalsPages {
		page, err := c.api.GroupTotals(ctx, group, cursor, listLimit)
		if err == nil {
			sum.Data, err = client.AddTotals(sum.Data, page.Value.Data)
		}
		if sum.NextCursor = page.Value.NextCursor; err != nil || sum.NextCursor == nil || len(sum.Data) >= listLimit {
			return sum, err
		}
		cursor = *sum.NextCursor
	}
	return sum, nil
}

// groups lists the groups whose ids begin with a prefix.
func (c *Console) groups(r *http.Request) (view, error) {
	q := r.URL.Query()
	page, err := c.api.Groups(q.Get("prefix")).Page(r.Context(), q.Get("cursor"), listLimit)
	return view{name: "groups", title: "Groups", data: struct {
		Groups client.List[client.Group]
		Prefix string
	}{page.Value, q.Get("prefix")}}, err
}
