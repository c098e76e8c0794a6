package access

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/setup"
)

// These tests check that concurrent grants and revocations of owners and administrators are linearizable: they have the
// same effect as if they were done one after the other, each with the role that its sender has at that time.

// pausingTable is a table that pauses each request before its first write.
type pausingTable struct{ table.Table }

func (p pausingTable) Write(ctx context.Context, w table.Write) (time.Time, error) {
	pauseOnce(ctx)
	return p.Table.Write(ctx, w)
}

func (p pausingTable) Transact(ctx context.Context, writes []table.Write) (time.Time, error) {
	pauseOnce(ctx)
	return p.Table.Transact(ctx, writes)
}

func pauseOnce(ctx context.Context) {
	if t, ok := ctx.Value(pausedRequestKey{}).(*pausedRequest); ok && t.put.CompareAndSwap(false, true) {
		close(t.ready)
		<-t.start
	}
}

// pausedRequest is a request that can be paused after its reads, before its write.
type pausedRequest struct {
	command
	put                atomic.Bool
	ready, start, done chan struct{}
	called, answered   int64
	status             int
	lost               bool // was paused, and refused afterwards
}

type pausedRequestKey struct{}

// begin sends a command to an instance and returns when the request pauses or is answered.
func (f *fleet) begin(process int, d command, clock *atomic.Int64) *pausedRequest {
	t := &pausedRequest{command: d, ready: make(chan struct{}), start: make(chan struct{}), done: make(chan struct{})}
	t.called = clock.Add(1)
	go func() {
		defer close(t.done)
		ctx := context.WithValue(f.t.Context(), pausedRequestKey{}, t)
		t.status = sendIn(ctx, f.all[process], d.line(), d.by).Code
		t.answered = clock.Add(1)
	}()
	select {
	case <-t.ready:
	case <-t.done:
	}
	return t
}

// isPaused reports whether the request is paused.
func (t *pausedRequest) isPaused() bool {
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}

// A command is sent by a user, or by an administrator if by is "". It sets the role of a user ("" revokes it). If user
// is "", it adds jane to the group desk or removes it.
type command struct {
	by, place, user string
	role            events.Role
}

func (d command) line() string {
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

var users = []string{"a", "b", "c"}

// grantState is the state of all grants.
type grantState struct {
	jane, desk [3]events.Role // by index in users
	grouped    events.Role    // "" unless jane is in the group desk
}

// of returns the part of the state that a command changes.
func (h *grantState) of(d command) *events.Role {
	switch {
	case d.user == "":
		return &h.grouped
	case d.place == onJane:
		return &h.jane[slices.Index(users, d.user)]
	}
	return &h.desk[slices.Index(users, d.user)]
}

// mayDo reports whether a command is allowed.
func (h *grantState) mayDo(d command) bool {
	if d.by == "" {
		return true
	}
	sender := slices.Index(users, d.by)
	owner := h.desk[sender] == events.RoleOwner
	if d.place == onJane {
		owner = owner && h.grouped != "" || h.jane[sender] == events.RoleOwner
	}
	return owner
}

// sequentialModel applies commands one by one. Its inputs are commands, or nil for a read of the state. Its outputs are
// HTTP statuses, or the state.
var sequentialModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{grantState{}} },
	Step: func(state, input, output any) []any {
		now := state.(grantState)
		d, isCommand := input.(command)
		status, _ := output.(int)
		done, same := now, *now.of(d) == d.role
		*done.of(d) = d.role
		switch may := now.mayDo(d); {
		case !isCommand && output == state,
			isCommand && status < 300 && same,                     // no change needed, which succeeds even without the role
			isCommand && (status == 403 || status == 404) && !may, // refused
			status == 503: // not written
			return []any{state}
		case isCommand && status < 300 && may:
			return []any{done}
		case status == 504: // unknown outcome
			return []any{state, done}
		}
		return nil
	},
}).ToModel()

// readState reads the state from the journal.
func (f *fleet) readState() (now grantState) {
	ctx := f.t.Context()
	for i, user := range users {
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

// round sends requests that all do their reads first. Then they write, in order or concurrently.
func (f *fleet) round(cmds []command, atOnce bool, clock *atomic.Int64) []*pausedRequest {
	turns := make([]*pausedRequest, len(cmds))
	for i, d := range cmds {
		turns[i] = f.begin(i%len(f.all), d, clock)
	}
	lost := make([]bool, len(turns))
	for i, t := range turns {
		lost[i] = t.isPaused()
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

// newOwners returns a fleet with the group desk, and the requests that granted the initial roles.
func newOwners(t testing.TB, db setup.Store, clock *atomic.Int64) (*fleet, []*pausedRequest) {
	f := newFleetOn(t, db, nil)
	f.must(`PUT /v1/groups/desk {}`)
	return f, f.restore(clock)
}

// restore makes a and b owners of jane, makes b and c owners of desk, and adds jane to desk.
func (f *fleet) restore(clock *atomic.Int64) (done []*pausedRequest) {
	for _, d := range []command{
		{"", onJane, "a", "owner"}, {"", onJane, "b", "owner"}, {"", inDesk, "b", "owner"}, {"", inDesk, "c", "owner"},
		{"", inDesk, "", "in"},
	} {
		done = append(done, f.round([]command{d}, false, clock)...)
	}
	return done
}

// interfere runs rounds of two or three random commands. draw returns a random number below n. lost is the number of
// requests that lost a race. wrong is the history if it is not linearizable, else "".
func interfere(t testing.TB, db setup.Store, rounds int, atOnce bool, draw func(n int) int) (lost int, wrong string) {
	var clock atomic.Int64
	f, turns := newOwners(t, db, &clock)
	var all []porcupine.Operation
	for range rounds {
		if draw(2) > 0 {
			turns = append(turns, f.restore(&clock)...)
		}
		cmds, place, first := make([]command, 2+draw(2)), []string{onJane, inDesk}[draw(2)], draw(3)
		for i := range cmds {
			by, other := (first+i)%3, 1+draw(2)
			d := command{users[by], place, users[(by+other)%3], []events.Role{"", "", "viewer", "owner"}[draw(4)]}
			if draw(4) == 0 {
				d.by = ""
			}
			if d.by == "" && draw(2) == 0 {
				d.user, d.role = "", []events.Role{"", "in"}[draw(2)]
			}
			cmds[i] = d
		}
		turns = append(turns, f.round(cmds, atOnce, &clock)...)
		from := clock.Add(1)
		all = append(all, porcupine.Operation{Call: from, Output: f.readState(), Return: clock.Add(1)})
	}
	for _, t := range turns {
		if t.lost {
			lost++
		}
		all = append(all, porcupine.Operation{Input: t.command, Call: t.called, Output: t.status, Return: t.answered})
	}
	if !porcupine.CheckOperations(sequentialModel, all) {
		slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, o := range all {
			wrong += fmt.Sprintf("%d to %d: %+v: %+v\n", o.Call, o.Return, o.Input, o.Output)
		}
	}
	return lost, wrong
}

// Interleaved commands of owners are linearizable, in every order of their writes.
func TestInterleavedOwners(t *testing.T) {
	t.Parallel()
	full.Checks(40)
	lost := 0
	rapid.Check(t, func(r *rapid.T) {
		n, wrong := interfere(t, setup.Memory(memdb.Options{}), rapid.IntRange(1, 6).Draw(r, "rounds"),
			false, func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "choice") })
		if lost += n; wrong != "" {
			r.Fatal(wrong)
		}
	})
	if lost == 0 {
		t.Error("no request lost a race")
	}
}

// Concurrent writes of owners are linearizable.
func TestConcurrentOwners(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]func(testing.TB) setup.Store{
		"memory": func(testing.TB) setup.Store { return setup.Memory(memdb.Options{}) },
		"DynamoDB Local": func(t testing.TB) setup.Store {
			full.Only(t, "needs DynamoDB Local")
			return setup.DynamoDBLocal(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(16, 2))
			lost, wrong := interfere(t, db(t), 30, true, random.IntN)
			if wrong != "" {
				t.Error(wrong)
			}
			t.Logf("%d lost a race", lost)
		})
	}
}

// Two requests do their reads, then the first one writes and removes the right that the second one needs.
func TestOwnersRevokeEachOther(t *testing.T) {
	t.Parallel()
	alone := command{"", inDesk, "", ""} // removes jane from the group
	for _, c := range []struct {
		name          string
		before        []command
		first, second command
		status        int // of the second request
	}{
		{"on an account", []command{alone}, command{"a", onJane, "b", ""}, command{"b", onJane, "a", ""}, 404},
		{"in a group", nil, command{"b", inDesk, "c", ""}, command{"c", inDesk, "b", ""}, 404},
		{"the role is weaker", []command{alone}, command{"a", onJane, "b", "viewer"}, command{"b", onJane, "a", ""}, 403},
		{"revoked in the group that gives the role", nil, command{"b", inDesk, "c", ""}, command{"c", onJane, "a", ""}, 404},
		{"the account leaves that group", nil, alone, command{"c", onJane, "a", ""}, 404},
		{"revoked by an administrator", nil, command{"", inDesk, "c", ""}, command{"c", inDesk, "b", ""}, 404},
		{"another role remains", nil, command{"a", onJane, "b", ""}, command{"b", onJane, "a", ""}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			var clock atomic.Int64
			f, _ := newOwners(t, setup.Memory(memdb.Options{}), &clock)
			f.round(c.before, false, &clock)
			want := f.readState()
			*want.of(c.first) = c.first.role
			if c.status == 200 {
				*want.of(c.second) = c.second.role
			}
			turns := f.round([]command{c.first, c.second}, false, &clock)
			if turns[0].status != 200 || turns[1].status != c.status || turns[1].lost != (c.status != 200) {
				t.Errorf("answers %d and %d, want 200 and %d", turns[0].status, turns[1].status, c.status)
			}
			if got := f.readState(); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
