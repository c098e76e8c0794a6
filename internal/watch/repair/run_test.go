package repair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// books returns a store with twenty accounts of three postings each, none of them projected.
func books(t *testing.T) (*viewstest.Store, []string) {
	t.Helper()
	m := viewstest.NewStore(t, time.Now)
	from := time.Now().Add(-time.Hour)
	var accounts []string
	for n := range 20 {
		accounts = append(accounts, fmt.Sprintf("a%02d", n))
		for i := range 3 {
			p := projections.Posting{ID: events.FirstKSUID(from.Add(time.Duration(i) * time.Second))}
			p.Quantity = events.NewAmount(1)
			if err := m.Post(t.Context(), events.Pair{Account: accounts[n], Asset: "USD"}, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m, accounts
}

// collect returns a Report function that appends the accounts of reported balances to list.
func collect(list *[]string) func(rebuild.Report) {
	return func(p rebuild.Report) {
		if p.Asset != "" {
			*list = append(*list, p.Account)
		}
	}
}

func quiet(c repair.Config) *repair.Run {
	c.Log = quietly
	return repair.New(c)
}

// ran runs a new run to its end, and returns it.
func ran(t *testing.T, c repair.Config) *repair.Run {
	t.Helper()
	r := quiet(c)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// A run rebuilds every account. A dry run before it reports the same differences, and a second run finds none.
func TestRunRebuildsEveryAccount(t *testing.T) {
	m, accounts := books(t)
	for _, c := range []struct {
		dry       bool
		different int64
	}{{true, 20}, {false, 20}, {true, 0}, {false, 0}} { // creating a balance corrects the summary, too
		var list []string
		r := ran(t, repair.Config{Table: m.Table, Report: collect(&list), Scope: rebuild.Scope{DryRun: c.dry}})
		n := r.Counts()
		if n.Done != 20 || n.Accounts != 20 || n.Balances != 20 || n.Different != c.different ||
			n.Failed+n.Behind+n.Strays > 0 || r.Next() != "" || r.FoundNothing() {
			t.Errorf("%+v: %+v, next %q", c, n, r.Next())
		}
		slices.Sort(list)
		if c.different > 0 && !slices.Equal(list, accounts) || c.different == 0 && len(list) > 0 {
			t.Errorf("reported %q", list)
		}
		if writes := m.Requests().Writes(); c.dry != (writes == 0) && c.different > 0 {
			t.Errorf("%+v: %d writes", c, writes)
		}
	}
}

// A run that is stopped finishes the current projections. A run from its Next does the rest. No account is left out.
func TestRunResumesWhereItWasStopped(t *testing.T) {
	m, accounts := books(t)
	from, runs := "", 0
	var list []string
	for ; runs < 50; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		n := 0
		r := quiet(repair.Config{Table: m.Table, From: from, Report: func(p rebuild.Report) {
			collect(&list)(p)
			if n++; n == 3 {
				stop()
			}
		}})
		err := r.Run(ctx)
		stop()
		if r.Next() == "" {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || r.Next() < from {
			t.Fatalf("error %v, from %q to %q", err, from, r.Next())
		}
		from = r.Next()
	}
	slices.Sort(list)
	if got := slices.Compact(list); !slices.Equal(got, accounts) || runs == 0 {
		t.Errorf("%d runs rebuilt %q", runs, got)
	}
}

// An unavailable table ends the run. Next is then not past an account that was not rebuilt.
func TestRunEndsWhenTheTableIsUnavailable(t *testing.T) {
	m, accounts := books(t)
	var pages atomic.Int32
	r := quiet(repair.Config{Table: &viewstest.Hooked{Table: m.Table,
		AfterPostings: func(page []table.Item) ([]table.Item, error) {
			if pages.Add(1) > 10 {
				return nil, fmt.Errorf("postings: %w", table.ErrUnavailable)
			}
			return page, nil
		}}})
	if err := r.Run(t.Context()); !errors.Is(err, table.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	from := r.Next()
	if from == "" {
		t.Fatal("the run reports that all accounts are done")
	}
	ran(t, repair.Config{Table: m.Table, From: from})
	after := ran(t, repair.Config{Table: m.Table, Scope: rebuild.Scope{DryRun: true}}).Counts()
	if after.Different > 0 || after.Done != int64(len(accounts)) {
		t.Errorf("still different: %+v", after)
	}
}

// FoundNothing distinguishes an account that does not exist from one that is correct.
func TestRunOfOneAccount(t *testing.T) {
	m, _ := books(t)
	for account, nothing := range map[string]bool{"a03": false, "b": true} {
		r := ran(t, repair.Config{Table: m.Table, Scope: rebuild.Scope{Account: account, Asset: "USD"}})
		if r.FoundNothing() != nothing || r.Counts().Balances != 1 {
			t.Errorf("%s: %+v, nothing %v", account, r.Counts(), r.FoundNothing())
		}
	}
	if n := m.Requests().Writes(); n != 1 {
		t.Errorf("%d balances written", n)
	}
}

// A run reads no more items per second than its rate.
func TestRunKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // the bubble begins before the first KSUID
		m, accounts := books(t)
		const rate = 10
		began := time.Now()
		r := ran(t, repair.Config{Table: m.Table, Rate: rate})
		n := r.Counts()
		took := time.Since(began)
		least := time.Duration(n.Postings+n.Listed)*time.Second/rate - 2*time.Second // the last reads are not waited for
		if took < least || took > 3*least || n.Postings < int64(3*len(accounts)) {
			t.Errorf("%d postings and %d items in %v, wanted at least %v", n.Postings, n.Listed, took, least)
		}
		began = time.Now()
		if ran(t, repair.Config{Table: m.Table}); time.Since(began) > time.Second {
			t.Errorf("without a rate it took %v", time.Since(began))
		}
	})
}

// A run over all accounts rebuilds the memberships of groups and the places in them. A dry run before it reports the
// same differences and writes nothing, and a second run finds none.
func TestRunRebuildsGroups(t *testing.T) {
	m, _ := books(t)
	ctx, at := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.Put(ctx, events.GroupRegistered{ID: "desk", Actor: "test", At: at},
		events.MemberGranted{Group: "desk", User: "ann", Role: events.RoleOwner, Number: 1, Actor: "test", At: at},
		events.AccountGrouped{
			Account: "a00", Number: 1, Groups: []string{"desk"}, Added: "desk", Actor: "test", At: at,
		}))
	// A place without a change, and a membership without a grant.
	must(m.Show(ctx, projections.Places, projections.GroupedAccount{Account: "a01", Group: "desk", Number: 7}))
	must(m.Show(ctx, projections.Members, projections.Membership{Group: "desk", User: "bob", Role: events.RoleViewer, Number: 3}))
	ran(t, repair.Config{Table: m.Table, Scope: rebuild.Scope{Account: "a19"}}) // does not rebuild groups
	for _, c := range []struct {
		dry       bool
		different int64
	}{{true, 4 + 19}, {false, 4 + 19}, {false, 0}} { // and the balances of the other accounts
		n := ran(t, repair.Config{Table: m.Table, Scope: rebuild.Scope{DryRun: c.dry}}).Counts()
		if n.Different != c.different || n.Views["memberships"] != 4 || n.Failed+n.Strays > 0 {
			t.Errorf("%+v: %+v", c, n)
		}
		_, err := m.Membership(ctx, "a00", "ann")
		if err == nil {
			t.Error("a membership of an account was created")
		}
	}
	accounts, err := m.Lists.AccountsOf(ctx, "ann", projections.Slice{Limit: 10})
	must(err)
	if len(accounts.Items) != 1 || accounts.Items[0].Account != "a00" || accounts.Items[0].Through != "desk" {
		t.Errorf("the roles of ann are %+v", accounts.Items)
	}
	members, err := m.Lists.GroupMembers(ctx, "desk", projections.Slice{Limit: 10})
	must(err)
	if len(members.Items) != 1 || members.Items[0].User != "ann" {
		t.Errorf("members %+v", members.Items)
	}
	// The first change replaces a place that was rebuilt without any change.
	must(m.Show(ctx, projections.Places, projections.GroupedAccount{Account: "a01", Group: "desk", Number: 1}))
	places, err := m.Lists.GroupAccounts(ctx, "desk", projections.Slice{Limit: 10})
	must(err)
	if len(places.Items) != 2 {
		t.Errorf("places %+v", places.Items)
	}
}

// A balance that counts more postings than exist is rebuilt only with DropMissing. Other wrong balances are rebuilt.
func TestBalanceThatCountsTooManyPostingsIsNotRebuilt(t *testing.T) {
	m, accounts := books(t)
	ran(t, repair.Config{Table: m.Table})
	head := func(k events.Pair) projections.Fold {
		b, _, err := m.Balance(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return b.Head
	}
	more := events.Pair{Account: accounts[3], Asset: "USD"}
	wrong := events.Pair{Account: accounts[4], Asset: "USD"}
	for k, count := range map[events.Pair]int64{more: 4, wrong: 3} {
		b, _, err := m.Balance(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		b.Head.Count, b.Head.Credits = count, events.NewAmount(4)
		m.Damage().Balance(b)
	}
	for _, c := range []struct {
		dry, drop     bool
		failed, count int64 // count is that of the balance that counts more, after the run
	}{{true, false, 0, 4}, {false, false, 1, 4}, {false, true, 0, 3}} {
		reported, refused := 0, 0
		collectReport := func(p rebuild.Report) {
			if slices.ContainsFunc(p.Differences, func(d rebuild.Difference) bool { return d.CountsMore }) {
				reported++
			}
			if errors.Is(p.Err, rebuild.ErrCountsMore) {
				refused++
			}
		}
		scope := rebuild.Scope{DryRun: c.dry, DropMissing: c.drop}
		failed := ran(t, repair.Config{Table: m.Table, Report: collectReport, Scope: scope}).Counts().Failed
		if head(more).Count != c.count || failed != c.failed || int64(refused) != failed || int64(reported) != 1-failed {
			t.Errorf("%+v: %+v, %d failed, %d reported, %d refused", c, head(more), failed, reported, refused)
		}
	}
	if head(wrong).Credits != events.NewAmount(3) {
		t.Errorf("another wrong balance was not rebuilt: %+v", head(wrong))
	}
}
