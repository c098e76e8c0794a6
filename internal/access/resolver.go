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

// Grants are the newest grants, read from the journal, strongly consistent, in the call itself. What was never granted
// is no error: the role is "".
type Grants interface {
	// NewestGrant returns a user's role on an account, and the number of the grant or revocation that says so.
	NewestGrant(ctx context.Context, account, user string) (role events.Role, number int64, err error)
	// NewestGroupGrant is NewestGrant of a user in a group.
	NewestGroupGrant(ctx context.Context, group, user string) (role events.Role, number int64, err error)
	// NewestGroups returns the groups that an account is in, and the number of the change that says so.
	NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error)
}

// atOnce is how many requests of one resolution are under way at a time.
const atOnce = 128

// Resolver finds the roles of users. It is safe for concurrent use.
type Resolver struct{ Grants Grants }

// Rights returns a user's right on each account, direct or through the account's groups: the strongest counts. needs
// names the accounts, each with the role that is enough for the caller. A role that is at least that may be weaker than
// the user's strongest; none is ever stronger.
//
// It makes one round trip: the grant on each account and its groups, all at the same time. It makes another one for the
// user's grants in the groups of those accounts on which the direct role is too weak.
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

// Within returns a user's right in each of the groups, in one round trip; in none, if there are none.
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
