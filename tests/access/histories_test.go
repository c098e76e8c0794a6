package access

import (
	"context"
	"fmt"
	"io"
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

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/internal/access"
	"ledger.example/internal/local/memdb"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/tests/full"
	"ledger.example/tests/setup"
)

// The histories: an administrator grants, revokes and changes groups, while a user posts through several warm processes
// on one table. What the user may do at each moment follows from what was acknowledged.

const processes = 3

var tables atomic.Int64

// fleet is several processes of the API on one table, which share no memory.
type fleet struct {
	t         testing.TB
	all       []http.Handler
	admin     http.Handler // another one, without defects
	projector *projections.Projector
	grants    access.Grants // of the journal
}

// newFleet starts the processes; plant exchanges parts of each.
func newFleet(t testing.TB, plant func(*api.Config)) *fleet {
	t.Helper()
	return newFleetOn(t, setup.Memory(memdb.Options{}), plant)
}

// newFleetOn is newFleet on a store. Its puts of single events wait where a turn of their request says so.
func newFleetOn(t testing.TB, store setup.Store, plant func(*api.Config)) *fleet {
	t.Helper()
	books := fmt.Sprintf("access-%d", tables.Add(1))
	setup.Table(t, store.Client(), books)
	var grants access.Grants
	process := func(plant func(*api.Config)) http.Handler {
		client := store.Client()
		v := views.NewViews(client, books)
		reader := projections.NewReader(v, slog.New(slog.DiscardHandler))
		l := ledger.New(ledger.Config{Journal: inTurn{journal.NewJournal(client, books)}, Projections: reader})
		c := api.Config{
			Commands: l, DryRun: l.DryRun(), Facts: l, Lists: views.NewLists(client, books), Strong: reader, Caller: who, Grants: l,
		}
		grants = l
		if plant != nil {
			plant(&c)
		}
		return api.New(c)
	}
	f := &fleet{t: t, admin: process(nil), grants: grants}
	f.projector = projections.NewProjector(views.NewViews(store.Client(), books), nil, slog.New(slog.DiscardHandler))
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

// sendIn sends a request whose context has what ctx has.
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

// rights are what the user u may do, in the ways that there are.
type rights struct {
	direct  access.Role
	member  map[string]access.Role // of groups
	grouped map[string]bool        // the account is in it
}

// now returns a copy.
func (r rights) now() rights {
	return rights{r.direct, maps.Clone(r.member), maps.Clone(r.grouped)}
}

// step makes one change, by a request that do sends.
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

// attempt is a post or a read of the user.
type attempt struct {
	id       string // of the transaction; "": it is a read
	from, to int64
	status   int
	body     string
}

// need is the role that an attempt needs.
func (a attempt) need() access.Role {
	if a.id == "" {
		return access.Viewer
	}
	return access.Operator
}

// change is what the user's rights became.
type change struct {
	from, to int64
	rights
}

// verdict returns what is wrong with an attempt, "" if nothing: the rights that the user may have had meanwhile are the
// last acknowledged before it began, and all that were under way. While several change, an attempt reads each at a
// moment of its own.
func verdict(a attempt, changes []change, posted bool) string {
	meanwhile := []rights{{}}
	for _, c := range changes {
		switch {
		case c.to < a.from:
			meanwhile = []rights{c.rights}
		case c.from < a.to:
			meanwhile = append(meanwhile, c.rights)
		}
	}
	weakest, strongest := bounds(meanwhile)
	ok := a.status < 300
	switch {
	case strongest < a.need() && (ok || posted):
		return fmt.Sprintf("was done without the role: %+v", a)
	case weakest >= a.need() && !ok:
		return fmt.Sprintf("was refused in spite of the role: %+v", a)
	case !ok && posted:
		return fmt.Sprintf("was refused and done: %+v", a)
	}
	return ""
}

// bounds returns the weakest and the strongest role that can be read while rights change.
func bounds(meanwhile []rights) (weakest, strongest access.Role) {
	direct := func(r rights) access.Role { return r.direct }
	weakest, strongest = span(meanwhile, direct)
	for _, group := range []string{"a", "b"} {
		low, high := span(meanwhile, func(r rights) access.Role { return r.member[group] })
		in := func(r rights) bool { return r.grouped[group] }
		if slices.ContainsFunc(meanwhile, in) {
			strongest = max(strongest, high)
		}
		if !slices.ContainsFunc(meanwhile, func(r rights) bool { return !in(r) }) {
			weakest = max(weakest, low)
		}
	}
	return weakest, strongest
}

// span returns the least and the greatest role of several rights.
func span(all []rights, role func(rights) access.Role) (least, most access.Role) {
	least = access.Administrator
	for _, r := range all {
		least, most = min(least, role(r)), max(most, role(r))
	}
	return least, most
}

// try makes one attempt through a process.
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

// play plays a history of steps, each change followed by attempts, and returns the first thing that is wrong.
func (f *fleet) play(random *rand.Rand, steps int) string {
	var clock atomic.Int64
	r := rights{member: map[string]access.Role{}, grouped: map[string]bool{}}
	var changes []change
	for i := range steps {
		from := clock.Add(1)
		r.step(random, f.must)
		changes = append(changes, change{from, clock.Add(1), r.now()})
		if random.IntN(2) == 0 { // else the projections lag
			_ = f.projector.RefreshMembership(f.t.Context(), projections.Membership{Account: "jane", User: "u"}) // there may be no grant yet
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

// What is acknowledged counts for the next request, on every process.
func TestRolesCountAtOnce(t *testing.T) {
	t.Parallel()
	if wrong := newFleet(t, nil).play(rand.New(rand.NewPCG(16, 1)), full.Count(150, 2000)); wrong != "" {
		t.Error(wrong)
	}
}

// The same while everything is under way at the same time.
func TestRolesCountWhileTheyChange(t *testing.T) {
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
	for n := range full.Count(150, 1500) {
		for tried.Load() < int64(4*n) { // so that changes and attempts mix
			runtime.Gosched()
		}
		from := clock.Add(1)
		r.step(random, f.must)
		changes = append(changes, change{from, clock.Add(1), r.now()})
	}
	done.Store(true)
	posting.Wait()
	total, did := 0, 0
	for _, all := range attempts {
		for _, a := range all {
			posted := f.posted(a)
			if total++; posted {
				did++
			}
			if wrong := verdict(a, changes, posted); wrong != "" {
				t.Error(wrong)
			}
		}
	}
	if t.Logf("%d attempts, %d posted, %d changes", total, did, len(changes)); did == 0 || did == total {
		t.Error("nothing was refused, or nothing was done")
	}
}

// The histories find what would make a revocation late.
func TestHistoriesFindPlantedDefects(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(*api.Config){
		"a role from memory": func(c *api.Config) { c.Grants = &remembered{Grants: c.Grants} },
		"a role from the projection": func(c *api.Config) {
			c.Grants = projected{c.Grants, func(ctx context.Context, account, user string) (events.Role, error) {
				listed, err := c.Lists.Members(ctx, account, projections.Slice{Limit: 100})
				for _, m := range listed.Items {
					if m.User == user {
						return m.Role, err
					}
				}
				return "", err
			}}
		},
		"a role from an index": func(c *api.Config) {
			c.Grants = projected{c.Grants, func(ctx context.Context, account, user string) (events.Role, error) {
				listed, err := c.Lists.AccountsOf(ctx, user, projections.Slice{Limit: 100})
				for _, m := range listed.Items {
					if m.Account == account && m.Through == "" {
						return m.Role, err
					}
				}
				return "", err
			}}
		},
		"membership of a group that is not read": func(c *api.Config) { c.Grants = trusting{c.Grants} },
		"groups of an account that are not read": func(c *api.Config) { c.Grants = groupless{c.Grants} },
	} {
		t.Run(name, func(t *testing.T) { find(t, newFleet(t, plant)) })
	}
	t.Run("a check after the write", func(t *testing.T) {
		f := newFleet(t, nil)
		for i := range f.all {
			f.all[i] = writesFirst(f.all[i])
		}
		find(t, f)
	})
}

// find fails t unless a history of the fleet has something wrong in it.
func find(t *testing.T, f *fleet) {
	t.Helper()
	wrong := f.play(rand.New(rand.NewPCG(16, 1)), 150)
	if t.Log(wrong); wrong == "" {
		t.Error("the histories do not find it")
	}
}

// remembered keeps what it read.
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

// projected takes direct roles from what trails behind the journal.
type projected struct {
	access.Grants
	role func(ctx context.Context, account, user string) (events.Role, error)
}

func (p projected) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	role, err := p.role(ctx, account, user)
	return role, 1, err
}

// trusting takes everybody for a member of every group.
type trusting struct{ access.Grants }

func (trusting) NewestGroupGrant(context.Context, string, string) (events.Role, int64, error) {
	return events.RoleOperator, 1, nil
}

// groupless takes no account for one of a group.
type groupless struct{ access.Grants }

func (groupless) NewestGroups(context.Context, string) ([]string, int64, error) { return nil, 0, nil }

// writesFirst is a process that checks only after it has written: a post is carried out, and then judged.
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
