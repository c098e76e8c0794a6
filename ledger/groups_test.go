package ledger_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// group registers groups.
func (r *rig) group(ids ...string) {
	r.t.Helper()
	for _, id := range ids {
		if _, _, err := r.RegisterGroup(r.t.Context(), ledger.RegisterGroup{ID: id, Actor: "tester"}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func into(group string) ledger.GroupAccount {
	return ledger.GroupAccount{Group: group, Account: "jane", Actor: "tester"}
}

func outOf(group string) ledger.GroupAccount {
	g := into(group)
	g.Out = true
	return g
}

// groupsOf returns the newest change of jane's groups as "number [groups]".
func (r *rig) groupsOf() string {
	r.t.Helper()
	groups, number, err := r.another().NewestGroups(r.t.Context(), "jane")
	switch {
	case err != nil:
		r.t.Fatal(err)
	case number == 0:
		return "none"
	}
	return fmt.Sprint(number, " ", groups)
}

// Each change has all groups. A repeated request writes nothing.
func TestGroupsOfAnAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.group("a", "b")
		for _, step := range []struct {
			ask     ledger.GroupAccount
			changed bool
			newest  string
		}{
			{outOf("a"), false, "none"}, {into("b"), true, "1 [b]"}, {into("a"), true, "2 [a b]"},
			{into("b"), false, "2 [a b]"}, {outOf("b"), true, "3 [a]"}, {outOf("b"), false, "3 [a]"},
			{outOf("a"), true, "4 []"}, {into("b"), true, "5 [b]"},
		} {
			groups, changed, err := r.GroupAccount(t.Context(), step.ask)
			if err != nil || changed != step.changed || r.groupsOf() != step.newest {
				t.Errorf("%+v: changed %v, %v; newest %s, want %s", step.ask, changed, err, r.groupsOf(), step.newest)
			}
			if slices.Contains(groups, step.ask.Group) == step.ask.Out {
				t.Errorf("%+v answers %q", step.ask, groups)
			}
		}
	})
}

func TestInvalidGroupRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.group("a")
		ask := into("none")
		_, _, err := r.GroupAccount(t.Context(), ask)
		r.refused(err, ledger.CodeGroupNotFound)
		ask = into("a")
		ask.Account = "none"
		_, _, err = r.GroupAccount(t.Context(), ask)
		r.refused(err, ledger.CodeAccountNotFound)
		ask.Account, ask.Group = "a b", "-"
		_, _, err = r.GroupAccount(t.Context(), ask)
		r.refused(err, ledger.CodeInvalidRequest)
		_, err = r.Grant(t.Context(), ledger.GrantMember{
			Group: "none", User: "u", Role: events.RoleOwner, Actor: "tester",
		})
		r.refused(err, ledger.CodeGroupNotFound)
		again := ledger.RegisterGroup{ID: "a", Actor: "another"}
		if _, created, err := r.RegisterGroup(t.Context(), again); created || err != nil {
			t.Errorf("the same again: %v, %v", created, err)
		}
		again.Name = "Another"
		_, _, err = r.another().RegisterGroup(t.Context(), again)
		r.refused(err, ledger.CodeGroupExists)
	})
}

// Concurrent changes never put an account into more than events.AccountGroupsMax groups.
func TestConcurrentChangesKeepTheLimitOfGroups(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var ids []string
		for i := range events.AccountGroupsMax + 3 {
			ids = append(ids, fmt.Sprintf("g%02d", i))
		}
		r.group(ids...)
		for _, id := range ids[:events.AccountGroupsMax-2] {
			if _, _, err := r.GroupAccount(t.Context(), into(id)); err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		errs := make([]error, 5)
		for i, id := range ids[events.AccountGroupsMax-2:] {
			l := r.another()
			all.Go(func() { _, _, errs[i] = l.GroupAccount(t.Context(), into(id)) })
		}
		all.Wait()
		refused := 0
		for _, err := range errs {
			if err != nil {
				refused++
				r.refused(err, ledger.CodeTooManyGroups)
			}
		}
		groups, number, err := r.another().NewestGroups(t.Context(), "jane")
		if refused != 3 || len(groups) != events.AccountGroupsMax || number != events.AccountGroupsMax || err != nil {
			t.Errorf("%d refused; %d: %q, %v", refused, number, groups, err)
		}
	})
}

// If another change comes first, this one is based on it and keeps its groups.
func TestGroupAfterAnotherChange(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.group("a", "b")
		r.journal.puts = []put{func(apply func() error) error {
			if _, _, err := r.another().GroupAccount(t.Context(), into("b")); err != nil {
				t.Error(err)
			}
			return apply()
		}}
		groups, changed, err := r.GroupAccount(t.Context(), into("a"))
		if err != nil || !changed || !slices.Equal(groups, []string{"a", "b"}) || r.groupsOf() != "2 [a b]" {
			t.Errorf("%q, %v, %v; newest %s", groups, changed, err, r.groupsOf())
		}
	})
}
