// Package access identifies callers and resolves the roles of users. It reads the grants themselves for every request,
// not projections or a cache, so that a revocation applies at once.
package access

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
)

// Caller is the authenticated sender of a request. The zero Caller has no rights.
type Caller struct {
	// Service is the authenticated identity: an IAM identity, or that of a token. For a user with a token, it is the
	// issuer.
	Service string
	// User is the id of the user whose roles apply, "" for none.
	User string
	// Admin allows everything without a role. An administrator has no User.
	Admin bool
}

// via separates a user from the service that acts for them. No name of a service has a valid id before it.
const via = " via "

// Actor returns the caller's name in events: that of the service, or "<user> via <service>".
func (c Caller) Actor() string {
	if c.User == "" {
		return c.Service
	}
	return c.User + via + c.Service
}

// UserOf returns the user in an actor's name. ok is false for services and administrators.
func UserOf(actor string) (user string, ok bool) {
	user, _, ok = strings.Cut(actor, via)
	if !ok || !events.ValidID(user) {
		return "", false
	}
	return user, true
}

// Role is the role of a caller. Each role includes the lower ones.
type Role int

// The roles. None has no access. Administrator cannot be granted: services have it, and tokens with a scope.
const (
	None Role = iota
	Viewer
	Operator
	Owner
	Administrator
)

var names = [...]string{"", string(events.RoleViewer), string(events.RoleOperator), string(events.RoleOwner),
	"administrator"}

func (r Role) String() string { return names[r] }

// Right is a role on an account or in a group, with the grant that gives it.
type Right struct {
	Role   Role
	Group  string // the group that gives the role; "" for a grant on the account itself
	Grant  int64  // number of the newest grant or revocation, on the account or in Group
	Groups int64  // if Group gives a role on an account: number of the newest change of the account's groups
}

// roleOf returns the role of a grant, None for an unknown role.
func roleOf(granted events.Role) Role {
	return Role(max(0, slices.Index(names[:Administrator], string(granted))))
}

// Grants reads the newest grants from the journal, strongly consistent and without a cache. Without a grant, the role
// is "", and there is no error.
type Grants interface {
	// NewestGrant returns a user's role on an account, and the number of the newest grant or revocation.
	NewestGrant(ctx context.Context, account, user string) (role events.Role, number int64, err error)
	// NewestGroupGrant is NewestGrant for a user in a group.
	NewestGroupGrant(ctx context.Context, group, user string) (role events.Role, number int64, err error)
	// NewestGroups returns the groups of an account, and the number of their newest change.
	NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error)
}

// atOnce is how many requests of one resolution are in flight at a time.
const atOnce = 128

// Resolver finds the roles of users. It is safe for concurrent use.
type Resolver struct{ Grants Grants }

// Rights returns a user's right on each account, by a grant on the account or in one of its groups. needs has the
// needed role for each account. If the grant on the account gives the needed role, the groups are not examined, so the
// result may be weaker than the user's strongest role.
//
// It reads the grants on the accounts and their groups in one round trip. It makes a second round trip for the user's
// grants in the groups of the accounts where the first role is too weak. These are within.
func (r Resolver) Rights(
	ctx context.Context, user string, needs map[string]Role,
) (held, within map[string]Right, err error) {
	accounts := slices.Collect(maps.Keys(needs))
	direct, groups := make([]Right, len(accounts)), make([][]string, len(accounts))
	changes := make([]int64, len(accounts)) // of groups
	err = each(ctx, 2*len(accounts), func(ctx context.Context, n int) (err error) {
		if i := n / 2; n%2 == 0 {
			direct[i], err = right(r.Grants.NewestGrant(ctx, accounts[i], user))
		} else {
			groups[i], changes[i], err = r.Grants.NewestGroups(ctx, accounts[i])
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("roles of a user: %w", err)
	}
	var wanted []string
	for i, account := range accounts {
		if direct[i].Role < needs[account] {
			wanted = append(wanted, groups[i]...)
		}
	}
	slices.Sort(wanted)
	within, err = r.Within(ctx, user, slices.Compact(wanted)...)
	if err != nil {
		return nil, nil, err
	}
	held = make(map[string]Right, len(accounts))
	for i, account := range accounts {
		held[account] = direct[i]
		for _, group := range groups[i] {
			if through := within[group]; through.Role > held[account].Role {
				through.Groups = changes[i]
				held[account] = through
			}
		}
	}
	return held, within, nil
}

// Within returns a user's right in each of the groups, in one round trip.
func (r Resolver) Within(ctx context.Context, user string, groups ...string) (map[string]Right, error) {
	within := make([]Right, len(groups))
	err := each(ctx, len(groups), func(ctx context.Context, i int) (err error) {
		within[i], err = right(r.Grants.NewestGroupGrant(ctx, groups[i], user))
		within[i].Group = groups[i]
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("roles of a user in groups: %w", err)
	}
	rights := make(map[string]Right, len(groups))
	for _, in := range within {
		rights[in.Group] = in
	}
	return rights, nil
}

// right is the right that a grant gives.
func right(granted events.Role, number int64, err error) (Right, error) {
	return Right{Role: roleOf(granted), Grant: number}, err
}

// each calls do for 0 to n-1, at most atOnce at a time, until one fails. A panic is an error, so that it ends one
// request and not the process.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for i := range n {
		all.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
				}
			}()
			return do(ctx, i)
		})
	}
	return all.Wait()
}
