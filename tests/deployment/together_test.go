package deployment

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/tests/caller"
	"ledger.example/tests/process"
	"ledger.example/tests/system"
)

// commands returns the write side of this release, which may write stored forms up to the given one.
func commands(s *system.System, form int) *ledger.Ledger {
	return ledger.New(ledger.Config{
		Journal:     journal.NewJournal(s.Client, s.Table),
		Projections: projections.NewReader(views.NewViews(s.Client, s.Table), nil), NewestForm: form,
	})
}

// forSubtest returns a copy of a caller that reports failures to a subtest.
func forSubtest(t *testing.T, c *caller.Caller) *caller.Caller {
	inner := *c
	inner.T = t
	return &inner
}

// transfer returns the body of a transfer, in the form that both releases accept.
func transfer(id, from, to string, quantity int) string {
	return fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"%d"}`, id, from, to, quantity)
}

// waitForBalance waits until a default read shows the quantity.
func waitForBalance(t *testing.T, s *caller.Caller, account, asset, quantity string) {
	t.Helper()
	caller.Eventually(t, time.Minute, account+" shows "+quantity+" "+asset, func() bool {
		return s.Must(200, "GET", "/v1/accounts/"+account+"/balances/"+asset, "").Value("quantity") == quantity
	})
}

// While the newer release writes the older form only, the two releases work as one: they share limits, replays,
// projections and audits. The older one can then go on alone, as after a rollback.
func TestOlderFormTogetherWithOlderRelease(t *testing.T) {
	r := startReleases(t)
	up, old := r.old("--no-pump")
	old.OpenRegister()
	const deposit, each = 500_000, 20_000
	old.Must(201, "POST", "/v1/transfers", transfer("d-1", "bank", "jane", deposit))

	t.Run("both at once", func(t *testing.T) {
		old := forSubtest(t, old)
		s := r.new(t, events.OlderForm, system.Pumped)
		s.Must(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
		s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"owner"}`)
		old.Must(200, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
		old.Must(200, "PUT", "/v1/accounts/jane/members/ann", `{"role":"viewer"}`)

		// Both releases spend from one account at once. Together they spend exactly what it has.
		const tries = 20
		answers := make(map[string]caller.Reply)
		var mu sync.Mutex
		var spending sync.WaitGroup
		for name, c := range map[string]*caller.Caller{"old": old, "new": s.Caller} {
			for n := range tries {
				id := fmt.Sprintf("%s-%d", name, n)
				spending.Go(func() {
					reply := c.Send("POST", "/v1/transfers", transfer(id, "jane", "joe", each))
					for reply.Status >= 500 { // contention
						reply = c.Send("POST", "/v1/transfers", transfer(id, "jane", "joe", each))
					}
					mu.Lock()
					answers[id] = reply
					mu.Unlock()
				})
			}
		}
		spending.Wait()
		posted := 0
		for id, first := range answers {
			other := s.Caller
			if strings.HasPrefix(id, "new") {
				other = old
			}
			again := other.Send("POST", "/v1/transfers", transfer(id, "jane", "joe", each))
			switch {
			case first.Status == 201 || first.Status == 200:
				posted++
				if again.Status != 200 || again.Text("postings", 0, "id") != first.Text("postings", 0, "id") {
					t.Errorf("%s was posted, but the other release answers %d %s", id, again.Status, again.Body)
				}
				if reused := other.Send("POST", "/v1/transfers", transfer(id, "jane", "joe", each+1)); reused.Code() !=
					"transaction_id_reused" {
					t.Errorf("%s with another body: %d %s", id, reused.Status, reused.Body)
				}
			case first.Code() != "insufficient_funds" || again.Code() != "insufficient_funds":
				t.Errorf("%s: %d %s, then %d %s", id, first.Status, first.Body, again.Status, again.Body)
			}
		}
		if posted != deposit/each {
			t.Errorf("%d of %d debits were posted, but %d are covered", posted, len(answers), deposit/each)
		}
		s.Must(201, "POST", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"joe","seller":"market","quantity":"10",`+
			`"cost":"1500","settle":true}`)

		// The newer release refuses commands whose events the older one cannot read.
		hold := ledger.PostTransfer{Annotation: ledger.Annotation{ID: "h-1", Actor: "tester", Hold: &ledger.HoldRequest{}},
			From: "joe", To: "jane", Asset: "USD", Quantity: events.NewAmount(1)}
		_, held := commands(s, events.OlderForm).Post(t.Context(), hold)
		_, reversed := commands(s, events.OlderForm).Reverse(t.Context(), ledger.ReverseRequest{
			Annotation: ledger.Annotation{ID: "r-1", Actor: "tester"}, Transaction: "d-1"})
		name := "Joseph"
		_, changed := commands(s, events.OlderForm).ChangeAccount(t.Context(),
			ledger.ChangeAccount{ID: "joe", Name: &name, Actor: "tester"})
		for _, err := range []error{held, reversed, changed} {
			if err == nil || !strings.Contains(err.Error(), "NewestForm") {
				t.Errorf("a command that needs a newer form got %v", err)
			}
		}
		waitForBalance(t, s.Caller, "joe", "USD", "498500")
		waitForBalance(t, old, "jane", "USD", "0")
		s.Project()
		wantOlder(t, s)
		r.wantKnownFindings()
	})
	r.wantCleanAudit(process.Binary(t))

	// The older release projects the whole stream again, on the items that the newer one wrote, and goes on.
	stop(t, up)
	up, old = r.old()
	old.Must(201, "POST", "/v1/transfers", transfer("d-2", "joe", "jane", 500))
	refused := old.Must(422, "POST", "/v1/transfers", transfer("d-3", "joe", "jane", 498_001))
	if refused.Code() != "insufficient_funds" {
		t.Errorf("refused with %s", refused.Body)
	}
	waitForBalance(t, old, "joe", "USD", "498000")
	waitForBalance(t, old, "jane", "USD", "500")
	stop(t, up)
	if out, problems, status := r.operator(r.binary, "rebuild", "--dry-run"); status != 0 {
		t.Errorf("a rebuild by the older release would change %s%s", out, problems)
	}
	r.wantKnownFindings()
	// A rebuild lists the transactions that were posted while no lister ran.
	if out, problems, status := r.operator(process.Binary(t), "rebuild", "--lists"); status != 0 {
		t.Errorf("rebuild: %s%s", out, problems)
	}
	r.wantCleanAudit(process.Binary(t))
}

// wantOlder fails the test if an item has a form that the older release cannot read.
func wantOlder(t *testing.T, s *system.System) {
	t.Helper()
	newer := []string{table.KindBalanceWithHolds, table.KindSegmentWithHolds, table.KindHold, table.KindOpenHold,
		table.KindCurrent}
	for key, item := range s.Contents() {
		r := ddb.Read(item)
		if r.Has(table.AttrEventVersion) && r.Integer(table.AttrEventVersion) > events.OlderForm ||
			slices.Contains(newer, r.Text(table.AttrType)) {
			t.Errorf("%v is of a newer form: %v", key, item)
		}
	}
}

// When the newer release writes the newest form, the older one goes on with the forms that it can read. It fails on a
// backdated transaction instead of misreading it, and it ignores groups. Nothing of that is lost.
func TestNewestFormTogetherWithOlderRelease(t *testing.T) {
	r := startReleases(t)
	up, old := r.old()
	old.OpenRegister()
	old.Must(201, "POST", "/v1/transfers", transfer("d-1", "bank", "jane", 1000))
	waitForBalance(t, old, "jane", "USD", "1000")

	s := r.new(t, events.NewestForm)
	s.Must(201, "POST", "/v1/transfers", `{"id":"p-1","from":"bank","to":"jane","asset":"USD","quantity":"500",`+
		`"effective_at":"2026-01-31T12:00:00Z"}`)
	s.Must(201, "PUT", "/v1/groups/family", `{"name":"Family"}`)
	s.Must(201, "PUT", "/v1/groups/family/accounts/jane", "")
	s.Must(201, "PUT", "/v1/groups/family/members/ann", `{"role":"viewer"}`)

	waitForBalance(t, old, "jane", "USD", "1500") // both releases can read its postings
	for path, body := range map[string]string{
		"/v1/transactions/p-1": "", "/v1/transfers": transfer("p-1", "bank", "jane", 500),
	} {
		method := "GET"
		if body != "" {
			method = "POST"
		}
		if reply := old.Send(method, path, body); reply.Status < 500 {
			t.Errorf("%s: the older release cannot read p-1, but answers %d %s", path, reply.Status, reply.Body)
		}
	}
	old.Must(201, "POST", "/v1/transfers", transfer("w-1", "jane", "market", 1400))
	stop(t, up)

	t.Run("the newer release takes over", func(t *testing.T) {
		s := r.new(t, events.NewestForm, system.Pumped)
		s.Project()
		waitForBalance(t, s.Caller, "jane", "USD", "100")
		if at := s.Must(200, "GET", "/v1/transactions/p-1", "").Text("posted_at"); at != "2026-01-31T12:00:00.000000Z" {
			t.Errorf("p-1 is posted at %s", at)
		}
		for path, name := range map[string]string{
			"/v1/groups/family/accounts": "account", "/v1/groups/family/members": "user",
		} {
			if all := s.All(path, 10); len(all) != 1 || all[0][name] == nil {
				t.Errorf("%s: %v", path, all)
			}
		}
	})
	if out, problems, status := r.operator(process.Binary(t), "rebuild"); status != 0 {
		t.Errorf("rebuild: %s%s", out, problems)
	}
	r.wantCleanAudit(process.Binary(t))
}

// stop stops the older release, and fails the test unless its exit status is 0.
func stop(t *testing.T, up *process.Process) {
	t.Helper()
	if status := up.Stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d: %s", status, up.Stderr())
	}
}
