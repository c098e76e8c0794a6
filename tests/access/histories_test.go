package access

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ledger.example/functions/access"
	"ledger.example/functions/api"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/setup"
)

// In a history, an administrator grants and revokes roles and changes groups, while a user reads and posts through
// several processes on one table. The acknowledged changes determine what the user may do.

const processes = 3

var tables atomic.Int64

// fleet has several instances of the API on one table. They share no memory.
type fleet struct {
	t         testing.TB
	all       []http.Handler
	admin     http.Handler // an instance without planted defects
	projector *projections.Projector
	grants    access.Grants // reads the journal
}

// newFleet starts the instances. plant may replace parts of each, to plant a defect.
func newFleet(t testing.TB, plant func(*api.Config)) *fleet {
	t.Helper()
	return newFleetOn(t, setup.Memory(memdb.Options{}), plant)
}

// newFleetOn is newFleet on a store. Its tables are pausingTables.
func newFleetOn(t testing.TB, db setup.Store, plant func(*api.Config)) *fleet {
	t.Helper()
	books := fmt.Sprintf("access-%d", tables.Add(1))
	setup.Table(t, db.Client(), books)
	var grants access.Grants
	process := func(plant func(*api.Config)) http.Handler {
		client := db.Client()
		v := table.NewTable(client, books)
		reader := projections.NewReader(v, slog.New(slog.DiscardHandler))
		l := ledger.New(ledger.Config{Table: pausingTable{table.NewTable(client, books)}, Projections: reader})
		c := api.Config{
			Commands: l, Resources: l, Lists: projections.NewLists(v), Strong: reader, Caller: callerOf, Grants: l,
		}
		grants = l
		if plant != nil {
			plant(&c)
		}
		return api.New(c)
	}
	f := &fleet{t: t, admin: process(nil), grants: grants}
	f.projector = projections.NewProjector(table.NewTable(db.Client(), books), nil, slog.New(slog.DiscardHandler))
	for range processes {
		f.all = append(f.all, process(plant))
	}
	for _, one := range []string{
		`PUT /v1/assets/USD {"name":"US dollar","scale":2}`, `PUT /v1/accounts/bank {"overdraft":"unlimited"}`,
		`PUT /v1/accounts/jane {}`, `PUT /v1/accounts/shop {}`, `PUT /v1/groups/a {}`, `PUT /v1/groups/b {}`,
		`POST /v1/transfers {"id":"d","from":"bank","to":"jane","asset":"USD","quantity":"1000000"}`,
	} {
		f.must(one)
	}
	return f
}

func send(h http.Handler, line, user string) *httptest.ResponseRecorder {
	return sendIn(context.Background(), h, line, user)
}

// sendIn sends a request with a context.
func sendIn(ctx context.Context, h http.Handler, line, user string) *httptest.ResponseRecorder {
	method, rest, _ := strings.Cut(line, " ")
	path, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if user != "" {
		r.Header.Set("Ledger-User", user)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (f *fleet) must(line string) {
	if w := send(f.admin, line, ""); w.Code >= 300 {
		f.t.Errorf("%s: %d %s", line, w.Code, w.Body)
	}
}

// rights has everything that gives the user u a role on the account jane.
type rights struct {
	direct  access.Role
	member  map[string]access.Role // role by group
	grouped map[string]bool        // groups that have the account
}

// clone returns a copy.
func (r rights) clone() rights {
	return rights{r.direct, maps.Clone(r.member), maps.Clone(r.grouped)}
}

// step makes one random change. do sends the request.
func (r *rights) step(random *rand.Rand, do func(line string)) {
	group := []string{"a", "b"}[random.IntN(2)]
	role := []access.Role{access.None, access.Viewer, access.Operator}[random.IntN(3)]
	grant := func(path string) {
		if role == access.None {
			do("DELETE " + path)
		} else {
			do("PUT " + path + ` {"role":"` + role.String() + `"}`)
		}
	}
	switch random.IntN(4) {
	case 0, 1:
		grant("/v1/accounts/jane/members/u")
		r.direct = role
	case 2:
		grant("/v1/groups/" + group + "/members/u")
		r.member[group] = role
	case 3:
		if r.grouped[group] {
			do("DELETE /v1/groups/" + group + "/accounts/jane")
		} else {
			do("PUT /v1/groups/" + group + "/accounts/jane")
		}
		r.grouped[group] = !r.grouped[group]
	}
}

// attempt is a post or a read by the user.
type attempt struct {
	id       string // of the transaction; "" for a read
	from, to int64
	status   int
	body     string
}

// need returns the role that an attempt needs.
func (a attempt) need() access.Role {
	if a.id == "" {
		return access.Viewer
	}
	return access.Operator
}

// change has the user's rights after a change.
type change struct {
	from, to int64
	rights
}

// verdict returns what is wrong with the answer to an attempt, "" if nothing. The user's possible rights are the last
// ones acknowledged before the attempt, and those of every concurrent change. The attempt may read the parts of the
// rights at different times.
func verdict(a attempt, changes []change, posted bool) string {
	possible := []rights{{}}
	for _, c := range changes {
		switch {
		case c.to < a.from:
			possible = []rights{c.rights}
		case c.from < a.to:
			possible = append(possible, c.rights)
		}
	}
	weakest, strongest := bounds(possible)
	ok := a.status < 300
	switch {
	case strongest < a.need() && (ok || posted):
		return fmt.Sprintf("accepted without the role: %+v", a)
	case weakest >= a.need() && !ok:
		return fmt.Sprintf("refused despite the role: %+v", a)
	case !ok && posted:
		return fmt.Sprintf("refused but posted: %+v", a)
	}
	return ""
}

// bounds returns the weakest and the strongest role that an attempt can read.
func bounds(possible []rights) (weakest, strongest access.Role) {
	direct := func(r rights) access.Role { return r.direct }
	weakest, strongest = minMax(possible, direct)
	for _, group := range []string{"a", "b"} {
		low, high := minMax(possible, func(r rights) access.Role { return r.member[group] })
		in := func(r rights) bool { return r.grouped[group] }
		if slices.ContainsFunc(possible, in) {
			strongest = max(strongest, high)
		}
		if !slices.ContainsFunc(possible, func(r rights) bool { return !in(r) }) {
			weakest = max(weakest, low)
		}
	}
	return weakest, strongest
}

// minMax returns the weakest and the strongest of the roles.
func minMax(all []rights, role func(rights) access.Role) (least, most access.Role) {
	least = access.Administrator
	for _, r := range all {
		least, most = min(least, role(r)), max(most, role(r))
	}
	return least, most
}

// try makes one attempt through a random instance.
func (f *fleet) try(random *rand.Rand, id string, clock *atomic.Int64) attempt {
	process := f.all[random.IntN(len(f.all))]
	a := attempt{from: clock.Add(1)}
	line := "GET /v1/accounts/jane"
	if random.IntN(3) > 0 {
		a.id = id
		line = `POST /v1/transfers {"id":"` + id + `","from":"jane","to":"shop","asset":"USD","quantity":"1"}`
	}
	w := send(process, line, "u")
	a.status, a.body, a.to = w.Code, w.Body.String(), clock.Add(1)
	return a
}

func (f *fleet) posted(a attempt) bool {
	return a.id != "" && send(f.admin, "GET /v1/transactions/"+a.id, "").Code == 200
}

// play runs a history of changes, each followed by attempts. It returns the first wrong answer, "" if there is none.
func (f *fleet) play(random *rand.Rand, steps int) string {
	var clock atomic.Int64
	r := rights{member: map[string]access.Role{}, grouped: map[string]bool{}}
	var changes []change
	for i := range steps {
		from := clock.Add(1)
		r.step(random, f.must)
		changes = append(changes, change{from, clock.Add(1), r.clone()})
		if random.IntN(2) == 0 { // otherwise the projection lags
			u := projections.Target{View: projections.Members, Account: "jane", User: "u"}
			_ = f.projector.Refresh(f.t.Context(), u, projections.Seen{}) // there may be no grant yet
		}
		for n := range 3 {
			a := f.try(random, fmt.Sprintf("p-%d-%d", i, n), &clock)
			if wrong := verdict(a, changes, f.posted(a)); wrong != "" {
				return fmt.Sprintf("step %d: %s", i, wrong)
			}
		}
	}
	return ""
}

// An acknowledged change applies to the next request on every instance.
func TestRoleChangesApplyImmediately(t *testing.T) {
	t.Parallel()
	if wrong := newFleet(t, nil).play(rand.New(rand.NewPCG(16, 1)), full.Count(150, 450)); wrong != "" {
		t.Error(wrong)
	}
}

// Concurrent attempts see the rights before or after each concurrent change.
func TestConcurrentRoleChanges(t *testing.T) {
	t.Parallel()
	f := newFleet(t, nil)
	var (
		clock    atomic.Int64
		changes  []change
		attempts [4][]attempt
		tried    atomic.Int64
		done     atomic.Bool
		posting  sync.WaitGroup
	)
	for worker := range attempts {
		posting.Go(func() {
			random := rand.New(rand.NewPCG(16, uint64(worker)))
			for n := 0; !done.Load(); n++ {
				attempts[worker] = append(attempts[worker], f.try(random, fmt.Sprintf("p-%d-%d", worker, n), &clock))
				tried.Add(1)
			}
		})
	}
	random := rand.New(rand.NewPCG(16, 99))
	r := rights{member: map[string]access.Role{}, grouped: map[string]bool{}}
	for n := range full.Count(150, 450) {
		for tried.Load() < int64(4*n) { // interleaves changes and attempts
			runtime.Gosched()
		}
		from := clock.Add(1)
		r.step(random, f.must)
		changes = append(changes, change{from, clock.Add(1), r.clone()})
	}
	done.Store(true)
	posting.Wait()
	total, accepted := 0, 0
	for _, all := range attempts {
		for _, a := range all {
			posted := f.posted(a)
			if total++; posted {
				accepted++
			}
			if wrong := verdict(a, changes, posted); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	if t.Logf("%d attempts, %d posted, %d changes", total, accepted, len(changes)); accepted == 0 || accepted == total {
		t.Error("all attempts were refused, or all were accepted")
	}
}
