package access

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/local/memdb"
	"ledger.example/ledger"
	"ledger.example/tests/full"
	"ledger.example/tests/setup"
)

// Owners grant and revoke each other at the same time, and administrators interfere: what happens is what would happen
// if they came one after the other, each with the role that they have then.

// inTurn is a journal in which the first put of a request waits for its turn.
type inTurn struct{ ledger.Journal }

func (j inTurn) Put(ctx context.Context, e events.Event, unless ...events.Event) (events.Event, error) {
	if t, ok := ctx.Value(turnKey{}).(*turn); ok && t.put.CompareAndSwap(false, true) {
		close(t.ready)
		<-t.start
	}
	return j.Journal.Put(ctx, e, unless...)
}

// turn is a request that has looked at all that it decides on, and is about to write.
type turn struct {
	deed
	put                atomic.Bool
	ready, start, done chan struct{}
	called, answered   int64
	status             int
	lost               bool // refused when it was about to write
}

type turnKey struct{}

// begin sends a deed to a process, and returns when it is about to write, or was answered.
func (f *fleet) begin(process int, d deed, clock *atomic.Int64) *turn {
	t := &turn{deed: d, ready: make(chan struct{}), start: make(chan struct{}), done: make(chan struct{})}
	t.called = clock.Add(1)
	go func() {
		defer close(t.done)
		ctx := context.WithValue(f.t.Context(), turnKey{}, t)
		t.status = sendIn(ctx, f.all[process], d.line(), d.by).Code
		t.answered = clock.Add(1)
	}()
	select {
	case <-t.ready:
	case <-t.done:
	}
	return t
}

// waits reports whether the request is about to write.
func (t *turn) waits() bool {
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}

// A deed is a request: of a user, or of an administrator if by is empty. It gives a user a role, "" for none, or, if
// user is empty, puts jane into the group desk, or takes it out.
type deed struct {
	by, place, user string
	role            events.Role
}

func (d deed) line() string {
	path := "/v1/" + d.place + "/members/" + d.user
	if d.user == "" {
		path = "/v1/groups/desk/accounts/jane"
	}
	switch {
	case d.role == "":
		return "DELETE " + path
	case d.user == "":
		return "PUT " + path
	}
	return "PUT " + path + ` {"role":"` + string(d.role) + `"}`
}

const (
	onJane = "accounts/jane"
	inDesk = "groups/desk"
)

var people = []string{"a", "b", "c"}

// held is who may do what.
type held struct {
	jane, desk [3]events.Role // of people
	grouped    events.Role    // not "": jane is in the desk
}

// of is what a deed changes.
func (h *held) of(d deed) *events.Role {
	switch {
	case d.user == "":
		return &h.grouped
	case d.place == onJane:
		return &h.jane[slices.Index(people, d.user)]
	}
	return &h.desk[slices.Index(people, d.user)]
}

// mayDo reports whether who does a deed may.
func (h *held) mayDo(d deed) bool {
	if d.by == "" {
		return true
	}
	who := slices.Index(people, d.by)
	owner := h.desk[who] == events.RoleOwner
	if d.place == onJane {
		owner = owner && h.grouped != "" || h.jane[who] == events.RoleOwner
	}
	return owner
}

// inOrder is what each deed does alone. Its inputs are deeds and nil for a look at everything, its outputs statuses,
// and what was seen.
var inOrder = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{held{}} },
	Step: func(state, input, output any) []any {
		now := state.(held)
		d, isDeed := input.(deed)
		status, _ := output.(int)
		done, same := now, *now.of(d) == d.role
		*done.of(d) = d.role
		switch may := now.mayDo(d); {
		case !isDeed && output == state,
			isDeed && status < 300 && same,                     // nothing was left to do, even if it may not any more
			isDeed && (status == 403 || status == 404) && !may, // refused
			status == 503: // nothing was written
			return []any{state}
		case isDeed && status < 300 && may:
			return []any{done}
		case status == 504: // nobody knows
			return []any{state, done}
		}
		return nil
	},
}).ToModel()

// look reads everything from the journal.
func (f *fleet) look() (now held) {
	ctx := f.t.Context()
	for i, user := range people {
		var fault error
		if now.jane[i], _, fault = f.grants.NewestGrant(ctx, "jane", user); fault != nil {
			f.t.Fatal(fault)
		}
		if now.desk[i], _, fault = f.grants.NewestGroupGrant(ctx, "desk", user); fault != nil {
			f.t.Fatal(fault)
		}
	}
	groups, _, err := f.grants.NewestGroups(ctx, "jane")
	if err != nil {
		f.t.Fatal(err)
	}
	if slices.Contains(groups, "desk") {
		now.grouped = "in"
	}
	return now
}

// round makes requests that all look at everything first. Then they write, in their order or at once.
func (f *fleet) round(deeds []deed, atOnce bool, clock *atomic.Int64) []*turn {
	turns := make([]*turn, len(deeds))
	for i, d := range deeds {
		turns[i] = f.begin(i%len(f.all), d, clock)
	}
	lost := make([]bool, len(turns))
	for i, t := range turns {
		lost[i] = t.waits()
		close(t.start)
		if !atOnce {
			<-t.done
		}
	}
	for i, t := range turns {
		<-t.done
		t.lost = lost[i] && t.status >= 300
	}
	return turns
}

// newOwners is a fleet with the group desk, and what was done to make owners in it.
func newOwners(t testing.TB, store setup.Store, clock *atomic.Int64) (*fleet, []*turn) {
	f := newFleetOn(t, store, nil)
	f.must(`PUT /v1/groups/desk {}`)
	return f, f.restore(clock)
}

// restore makes a and b owners of jane, and b and c of the desk, and puts jane into that.
func (f *fleet) restore(clock *atomic.Int64) (done []*turn) {
	for _, d := range []deed{
		{"", onJane, "a", "owner"}, {"", onJane, "b", "owner"}, {"", inDesk, "b", "owner"}, {"", inDesk, "c", "owner"},
		{"", inDesk, "", "in"},
	} {
		done = append(done, f.round([]deed{d}, false, clock)...)
	}
	return done
}

// interfere plays rounds of up to three deeds, each drawn as one of n, and returns how many requests lost a race. wrong
// is what is wrong with it, "" if nothing.
func interfere(t testing.TB, store setup.Store, rounds int, atOnce bool, draw func(n int) int) (lost int, wrong string) {
	var clock atomic.Int64
	f, turns := newOwners(t, store, &clock)
	var all []porcupine.Operation
	for range rounds {
		if draw(2) > 0 {
			turns = append(turns, f.restore(&clock)...)
		}
		deeds, place, first := make([]deed, 2+draw(2)), []string{onJane, inDesk}[draw(2)], draw(3)
		for i := range deeds {
			by, other := (first+i)%3, 1+draw(2)
			d := deed{people[by], place, people[(by+other)%3], []events.Role{"", "", "viewer", "owner"}[draw(4)]}
			if draw(4) == 0 {
				d.by = ""
			}
			if d.by == "" && draw(2) == 0 {
				d.user, d.role = "", []events.Role{"", "in"}[draw(2)]
			}
			deeds[i] = d
		}
		turns = append(turns, f.round(deeds, atOnce, &clock)...)
		from := clock.Add(1)
		all = append(all, porcupine.Operation{Call: from, Output: f.look(), Return: clock.Add(1)})
	}
	for _, t := range turns {
		if t.lost {
			lost++
		}
		all = append(all, porcupine.Operation{Input: t.deed, Call: t.called, Output: t.status, Return: t.answered})
	}
	if !porcupine.CheckOperations(inOrder, all) {
		slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, o := range all {
			wrong += fmt.Sprintf("%d to %d: %+v: %+v\n", o.Call, o.Return, o.Input, o.Output)
		}
	}
	return lost, wrong
}

// Whatever owners do to each other, and in whatever order their writes come.
func TestOwnersInterfere(t *testing.T) {
	t.Parallel()
	lost := 0
	rapid.Check(t, func(r *rapid.T) {
		n, wrong := interfere(t, setup.Memory(memdb.Options{}), rapid.IntRange(1, 6).Draw(r, "rounds"),
			false, func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "choice") })
		if lost += n; wrong != "" {
			r.Fatal(wrong)
		}
	})
	if lost == 0 {
		t.Error("nobody lost a race")
	}
}

// The same with writes that meet in the store.
func TestOwnersInterfereAtOnce(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(testing.TB) setup.Store{
		"memory": func(testing.TB) setup.Store { return setup.Memory(memdb.Options{}) },
		"DynamoDB Local": func(t testing.TB) setup.Store {
			full.Only(t, "needs DynamoDB Local")
			return setup.DynamoDBLocal(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(16, 2))
			lost, wrong := interfere(t, store(t), full.Count(30, 100), true, random.IntN)
			if wrong != "" {
				t.Error(wrong)
			}
			t.Logf("%d lost a race", lost)
		})
	}
}

// Both requests look, and then write: the first one takes away what the second one relies on.
func TestOwnersRevokeEachOther(t *testing.T) {
	t.Parallel()
	alone := deed{"", inDesk, "", ""} // jane is in no group
	for _, c := range []struct {
		name          string
		before        []deed
		first, second deed
		status        int // of the second one
	}{
		{"on an account", []deed{alone}, deed{"a", onJane, "b", ""}, deed{"b", onJane, "a", ""}, 404},
		{"in a group", nil, deed{"b", inDesk, "c", ""}, deed{"c", inDesk, "b", ""}, 404},
		{"the role is weaker", []deed{alone}, deed{"a", onJane, "b", "viewer"}, deed{"b", onJane, "a", ""}, 403},
		{"revoked in the group that gives the role", nil, deed{"b", inDesk, "c", ""}, deed{"c", onJane, "a", ""}, 404},
		{"the account leaves that group", nil, alone, deed{"c", onJane, "a", ""}, 404},
		{"revoked by an administrator", nil, deed{"", inDesk, "c", ""}, deed{"c", inDesk, "b", ""}, 404},
		{"another right is left", nil, deed{"a", onJane, "b", ""}, deed{"b", onJane, "a", ""}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			var clock atomic.Int64
			f, _ := newOwners(t, setup.Memory(memdb.Options{}), &clock)
			f.round(c.before, false, &clock)
			want := f.look()
			*want.of(c.first) = c.first.role
			if c.status == 200 {
				*want.of(c.second) = c.second.role
			}
			turns := f.round([]deed{c.first, c.second}, false, &clock)
			if turns[0].status != 200 || turns[1].status != c.status || turns[1].lost != (c.status != 200) {
				t.Errorf("answers %d and %d, want 200 and %d", turns[0].status, turns[1].status, c.status)
			}
			if got := f.look(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
