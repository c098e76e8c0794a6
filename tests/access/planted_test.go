package access

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/functions/api"
	"ledger.example/projections"
	"ledger.example/tests/harness/full"
)

// The histories detect defects that delay a revocation.
func TestHistoriesFindPlantedDefects(t *testing.T) {
	t.Parallel()
	full.Only(t, "tests a test with planted defects")
	for name, plant := range map[string]func(*api.Config){
		"roles are cached": func(c *api.Config) { c.Grants = &remembered{Grants: c.Grants} },
		"roles come from the projection": func(c *api.Config) {
			c.Grants = projected{c.Grants, c.Lists}
		},
		"group membership is not read":       func(c *api.Config) { c.Grants = trusting{c.Grants} },
		"groups of the account are not read": func(c *api.Config) { c.Grants = groupless{c.Grants} },
	} {
		t.Run(name, func(t *testing.T) { checkDetected(t, newFleet(t, plant)) })
	}
	t.Run("the check follows the write", func(t *testing.T) {
		f := newFleet(t, nil)
		for i := range f.all {
			f.all[i] = writesFirst(f.all[i])
		}
		checkDetected(t, f)
	})
}

// checkDetected fails t unless a history detects a defect of the fleet.
func checkDetected(t *testing.T, f *fleet) {
	t.Helper()
	wrong := f.play(rand.New(rand.NewPCG(16, 1)), 150)
	if t.Log(wrong); wrong == "" {
		t.Error("the history does not detect the defect")
	}
}

// remembered caches roles.
type remembered struct {
	access.Grants
	known sync.Map
}

func (r *remembered) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	if role, ok := r.known.Load(account + user); ok {
		return role.(events.Role), 1, nil
	}
	role, n, err := r.Grants.NewestGrant(ctx, account, user)
	r.known.Store(account+user, role)
	return role, n, err
}

// projected reads direct roles from a projection, which lags behind the journal.
type projected struct {
	access.Grants
	lists *projections.Lists
}

func (p projected) NewestGrant(ctx context.Context, account, user string) (role events.Role, _ int64, err error) {
	listed, err := p.lists.Members(ctx, account, projections.Slice{Limit: 100})
	for _, m := range listed.Items {
		if m.User == user {
			role = m.Role
		}
	}
	return role, 1, err
}

// trusting reports every user as a member of every group.
type trusting struct{ access.Grants }

func (trusting) NewestGroupGrant(context.Context, string, string) (events.Role, int64, error) {
	return events.RoleOperator, 1, nil
}

// groupless reports every account as being in no group.
type groupless struct{ access.Grants }

func (groupless) NewestGroups(context.Context, string) ([]string, int64, error) { return nil, 0, nil }

// writesFirst posts first and checks the role afterwards.
func writesFirst(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := r.Header.Get("Ledger-User")
		if r.Method != http.MethodPost || user == "" {
			h.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		line := "POST " + r.URL.Path
		done := send(h, line+" "+string(body), "")
		if judged := send(h, line+"?dry_run=true "+string(body), user); judged.Code >= 300 {
			done = judged
		}
		w.WriteHeader(done.Code)
		_, _ = w.Write(done.Body.Bytes())
	})
}
