package access

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
)

// Grants are the newest grants, read from the journal, strongly consistent, in the call itself. What was never granted
// is no error: the role is "".
type Grants interface {
	// NewestGrant returns a user's role on an account, and the number of the grant or revocation that says so.
	NewestGrant(ctx context.Context, account, user string) (role events.Role, number int64, err error)
}

// atOnce is how many grants one resolution reads in parallel.
const atOnce = 128

// Resolver finds the roles of users. It is safe for concurrent use.
type Resolver struct{ Grants Grants }

// Roles returns a user's role on each account. needs names the accounts, each with the role that is enough for the
// caller: more is not asked for, so a role that is found may be weaker than the user's, but never stronger.
//
// It makes one round trip: the grant on each account, all in parallel.
func (r Resolver) Roles(ctx context.Context, user string, needs map[string]Role) (map[string]Role, error) {
	roles := make(map[string]Role, len(needs))
	var mutex sync.Mutex
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(atOnce)
	for account := range needs {
		reads.Go(guarded(func() error {
			granted, _, err := r.Grants.NewestGrant(ctx, account, user)
			mutex.Lock()
			defer mutex.Unlock()
			roles[account] = RoleOf(granted)
			return err
		}))
	}
	if err := reads.Wait(); err != nil {
		return nil, fmt.Errorf("roles of a user: %w", err)
	}
	return roles, nil
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
