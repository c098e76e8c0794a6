package ledger_test

import (
	"fmt"
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
