package console

import (
	"context"
	"slices"
	"time"

	"ledger.example/client"
)

// A form waits up to awaitTimeout until the list that it changed is up to date, and polls every awaitInterval.
const awaitTimeout, awaitInterval = 2 * time.Second, 50 * time.Millisecond

// groupChange returns the action that adds an account to a group or removes it.
func groupChange(
	title, verb, note string,
	change func(*client.Client, context.Context, string, string) (client.AccountGroups, client.Written, error),
) action {
	send := func(v *visit, f *form) (string, error) {
		is, _, err := change(v.api, v.ctx, f.value("group"), f.value("account"))
		if err == nil {
			awaitListed(v.ctx, v.api.AccountGroups(is.Account), func(all []client.GroupedAccount) bool {
				return slices.Contains(all, is.GroupedAccount) == slices.Contains(is.Groups, is.Group)
			})
		}
		return pathOf("groups", is.Group), err
	}
	return action{Title: title, Verb: verb, Note: note, Fields: []field{groupField, accountField}, send: send}
}

// roleChange returns the action that grants or revokes a role on an account or in a group.
func roleChange(
	title, verb, note string,
	change func(*client.Client, context.Context, client.Member) (client.Member, client.Written, error),
	fields ...field,
) action {
	send := func(v *visit, f *form) (string, error) {
		is, _, err := change(v.api, v.ctx, client.Member{
			Account: f.value("account"), Group: f.value("group"), User: f.value("user"), Role: f.value("role"),
		})
		list, path := v.api.Members(is.Account), pathOf("accounts", is.Account)
		if is.Group != "" {
			list, path = v.api.GroupMembers(is.Group), pathOf("groups", is.Group)
		}
		if err == nil {
			awaitListed(v.ctx, list, func(all []client.GrantedMember) bool {
				at := slices.IndexFunc(all, func(other client.GrantedMember) bool { return other.User == is.User })
				return at < 0 && is.Role == "" || at >= 0 && all[at].Member == is
			})
		}
		return path + "#members-title", err
	}
	return action{Title: title, Verb: verb, Note: note, Fields: fields, send: send}
}

// awaitListed waits until the first page of a list shows the change that was written, so that the next page of the
// console shows it too. It gives up at awaitTimeout or at an error: the change itself is stored.
func awaitListed[T any](ctx context.Context, list client.Listing[T], shown func([]T) bool) {
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	for {
		if now, err := list.Page(ctx, "", client.PageLimit); err != nil || shown(now.Value.Data) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(awaitInterval):
		}
	}
}
