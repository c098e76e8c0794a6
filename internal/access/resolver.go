package access

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
)

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
// grants in the groups of the accounts where the first role is too weak.
func (r Resolver) Rights(ctx context.Context, user string, needs map[string]Role) (map[string]Right, error) {
	rights, groups := make(map[string]Right, len(needs)), make(map[string][]string, len(needs))
	changes := make(map[string]int64, len(needs)) // of groups
	var mutex sync.Mutex
	reads, readsCtx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for account := range needs {
		reads.Go(guarded(func() error {
			granted, number, err := r.Grants.NewestGrant(readsCtx, account, user)
			mutex.Lock()
			defer mutex.Unlock()
			rights[account] = Right{Role: RoleOf(granted), Grant: number}
			return err
		}))
		reads.Go(guarded(func() error {
			in, number, err := r.Grants.NewestGroups(readsCtx, account)
			mutex.Lock()
			defer mutex.Unlock()
			groups[account], changes[account] = in, number
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, fmt.Errorf("roles of a user: %w", err)
	}
	wanted := make(map[string]bool)
	for account, need := range needs {
		if rights[account].Role < need {
			for _, group := range groups[account] {
				wanted[group] = true
			}
		}
	}
	within, err := r.Within(ctx, user, slices.Collect(maps.Keys(wanted))...)
	if err != nil {
		return nil, err
	}
	for account := range needs {
		for _, group := range groups[account] {
			if through := within[group]; through.Role > rights[account].Role {
				through.Groups = changes[account]
				rights[account] = through
			}
		}
	}
	return rights, nil
}

// Within returns a user's right in each of the groups, in one round trip.
func (r Resolver) Within(ctx context.Context, user string, groups ...string) (map[string]Right, error) {
	rights := make(map[string]Right, len(groups))
	var mutex sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for _, group := range groups {
		reads.Go(guarded(func() error {
			granted, number, err := r.Grants.NewestGroupGrant(ctx, group, user)
			mutex.Lock()
			defer mutex.Unlock()
			rights[group] = Right{Role: RoleOf(granted), Group: group, Grant: number}
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, fmt.Errorf("roles of a user in groups: %w", err)
	}
	return rights, nil
}

// guarded turns a panic into an error, so that it ends one request and not the process.
func guarded(do func() error) func() error {
	return func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return do()
	}
}
