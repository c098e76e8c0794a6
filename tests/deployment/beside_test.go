package deployment

import (
	"fmt"
	"reflect"
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

// commands is the write side of this release, which may write stored forms up to the given one.
func commands(s *system.System, form int) *ledger.Ledger {
	return ledger.New(ledger.Config{
		Journal:     journal.NewJournal(s.Client, s.Table),
		Projections: projections.NewReader(views.NewViews(s.Client, s.Table), nil), NewestForm: form,
	})
}

// within is a caller for a subtest.
func within(t *testing.T, c *caller.Caller) *caller.Caller {
	inner := *c
	inner.T = t
	return &inner
}

// transfer is a transfer as both releases take it.
func transfer(id, from, to string, quantity int) string {
	return fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"%d"}`, id, from, to, quantity)
}

// shown waits until a default read shows this quantity.
func shown(t *testing.T, s *caller.Caller, account, asset, quantity string) {
	t.Helper()
	caller.Eventually(t, time.Minute, account+" shows "+quantity+" "+asset, func() bool {
		return s.Must(200, "GET", "/v1/accounts/"+account+"/balances/"+asset, "").Value("quantity") == quantity
	})
}

// With the older form, the two releases are one: they share limits, replays, projections and audits, and the older one
// goes on alone.
func TestOlderFormBesideOldCode(t *testing.T) {
	r := both(t)
	up, old := r.old("--no-pump")
	old.OpenRegister()
	const deposit, each = 500_000, 20_000
	old.Must(201, "POST", "/v1/transfers", transfer("d-1", "bank", "jane", deposit))

	t.Run("side by side", func(t *testing.T) {
		old := within(t, old)
		s := r.new(t, events.OlderForm, system.Pumped)
		s.Must(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
		s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"owner"}`)
		old.Must(200, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
		old.Must(200, "PUT", "/v1/accounts/jane/members/ann", `{"role":"viewer"}`)

		// Both spend from one account at once. What it has is spent, and no more.
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
					t.Errorf("%s was posted, and the other release answers %d %s", id, again.Status, again.Body)
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
			t.Errorf("%d of %d debits were posted, of %d that are covered", posted, len(answers), deposit/each)
		}
		s.Must(201, "POST", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"joe","seller":"market","quantity":"10",`+
			`"cost":"1500","settle":true}`)

		// What the older release could not read is not written.
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
				t.Errorf("the newest form is the older one, and %v", err)
			}
		}
		shown(t, s.Caller, "joe", "USD", "498500")
		shown(t, old, "jane", "USD", "0")
		s.Project()
		wantOlder(t, s)
		r.knowsNothingElse()
	})
	r.sound(process.Binary(t))

	// The older release projects everything again, on what the newer one wrote, and goes on.
	stop(t, up)
	up, old = r.old()
	old.Must(201, "POST", "/v1/transfers", transfer("d-2", "joe", "jane", 500))
	refused := old.Must(422, "POST", "/v1/transfers", transfer("d-3", "joe", "jane", 498_001))
	if refused.Code() != "insufficient_funds" {
		t.Errorf("refused with %s", refused.Body)
	}
	shown(t, old, "joe", "USD", "498000")
	shown(t, old, "jane", "USD", "500")
	stop(t, up)
	if out, problems, status := r.operator(r.binary, "rebuild", "--dry-run"); status != 0 {
		t.Errorf("a rebuild by the older release would change %s%s", out, problems)
	}
	r.knowsNothingElse()
	// What was posted while no lister ran is listed by a rebuild.
	if out, problems, status := r.operator(process.Binary(t), "rebuild", "--lists"); status != 0 {
		t.Errorf("rebuild: %s%s", out, problems)
	}
	r.sound(process.Binary(t))
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

// With the newest form, and the older release still there, a hold stops the projection of its balances by the older
// release, and what that reads and writes of them. Nothing is lost and nothing is spent twice: when the newer release
// takes over, everything goes on.
func TestNewestFormBesideOldCode(t *testing.T) {
	r := both(t)
	up, old := r.old()
	old.OpenRegister()
	old.Must(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
	for _, account := range []string{"jane", "joe"} {
		old.Must(201, "POST", "/v1/transfers", transfer("d-"+account, "bank", account, 1000))
		shown(t, old, account, "USD", "1000")
	}
	old.Must(201, "POST", "/v1/transfers", transfer("w-1", "jane", "market", 100)) // it is warm
	shown(t, old, "jane", "USD", "900")

	s := r.new(t, events.NewestForm)
	newer := commands(s, events.NewestForm)
	if _, err := newer.Post(t.Context(), ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "h-1", Actor: "tester", Hold: &ledger.HoldRequest{}},
		From:       "jane", To: "market", Asset: "USD", Quantity: events.NewAmount(700),
	}); err != nil {
		t.Fatal(err)
	}

	const balance = "/v1/accounts/jane/balances/USD"
	if reply := old.Send("GET", balance+"?consistency=strong", ""); reply.Status < 500 {
		t.Errorf("the older release reads a hold as %d %s", reply.Status, reply.Body)
	}
	if reply := old.Send("POST", "/v1/transfers", transfer("w-2", "jane", "market", 300)); reply.Status < 500 {
		t.Errorf("the older release spends what is held: %d %s", reply.Status, reply.Body)
	}
	old.Must(201, "POST", "/v1/transfers", transfer("w-3", "jane", "market", 150)) // it is covered
	old.Must(201, "POST", "/v1/transfers", transfer("w-4", "joe", "market", 10))
	caller.Eventually(t, time.Minute, "the older projector meets the hold", func() bool {
		return strings.Contains(up.Said(), "projection failed")
	})
	if got := old.Must(200, "GET", balance, "").Value("quantity"); got != "900" {
		t.Errorf("the older projector counted something of what it cannot read: %v", got)
	}
	if out, problems, status := r.operator(r.binary, "rebuild", "--account", "jane"); status == 0 {
		t.Errorf("a rebuild by the older release of what it cannot read: %s%s", out, problems)
	}

	stop(t, up)

	t.Run("the newer release takes over", func(t *testing.T) {
		s := r.new(t, events.NewestForm, system.Pumped)
		s.Project()
		shown(t, s.Caller, "jane", "USD", "750")
		shown(t, s.Caller, "joe", "USD", "990")
		wantHeld(t, s, 700)
	})
	t.Run("rolled back", func(t *testing.T) { rolledBack(t, r, s) })

	// What the older projector passed over is found by a rebuild, if no later posting brings it.
	if out, problems, status := r.operator(process.Binary(t), "rebuild"); status != 0 {
		t.Errorf("rebuild: %s%s", out, problems)
	}
	shown(t, s.Caller, "jane", "USD", "730")
	shown(t, s.Caller, "joe", "USD", "980")
	wantHeld(t, s, 700)

	if _, err := newer.Capture(t.Context(), ledger.CaptureRequest{Transaction: "h-1", Actor: "tester",
		Part: ledger.Part{Quantity: new(events.NewAmount(600))}}); err != nil {
		t.Fatal(err)
	}
	s.Must(422, "POST", "/v1/transfers", transfer("w-7", "jane", "market", 131))
	s.Must(201, "POST", "/v1/transfers", transfer("w-8", "jane", "market", 130))
	s.StartPump()
	s.Project()
	shown(t, s.Caller, "jane", "USD", "0")
	wantHeld(t, s, 0)
	if out, problems, status := r.operator(process.Binary(t), "rebuild", "--dry-run"); status != 0 {
		t.Errorf("a rebuild would change %s%s", out, problems)
	}
	r.sound(process.Binary(t))
}

// rolledBack has the older release back for a while, in which jane spends 20 more. It leaves alone the balances whose
// form it does not know, and takes their records for done.
func rolledBack(t *testing.T, r *releases, s *system.System) {
	key := table.BalanceKey("jane", "USD")
	before := s.Contents()[key]
	up, old := r.old()
	old = within(t, old)
	const balance = "/v1/accounts/jane/balances/USD"
	for _, path := range []string{balance, balance + "?consistency=strong"} {
		if reply := old.Send("GET", path, ""); reply.Status < 500 {
			t.Errorf("%s: the older release reads a balance with holds as %d %s", path, reply.Status, reply.Body)
		}
	}
	if reply := old.Send("POST", "/v1/transfers", transfer("w-5", "jane", "market", 60)); reply.Status < 500 {
		t.Errorf("the older release spends what is held: %d %s", reply.Status, reply.Body)
	}
	old.Must(201, "POST", "/v1/transfers", transfer("w-6", "jane", "bank", 20))
	old.Must(201, "POST", "/v1/transfers", transfer("x-1", "joe", "bank", 10))
	shown(t, old, "joe", "USD", "980")
	caller.Eventually(t, time.Minute, "the older projector meets the balance", func() bool {
		return strings.Contains(up.Said(), "projection stopped")
	})
	stop(t, up)
	if after := s.Contents()[key]; !reflect.DeepEqual(before, after) {
		t.Errorf("the older release made of %v the balance %v", before, after)
	}
}

// stop ends the older release, which must end well.
func stop(t *testing.T, up *process.Process) {
	t.Helper()
	if status := up.Stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("ended with %d: %s", status, up.Said())
	}
}

// wantHeld fails the test unless so much of jane's money is pending, by what is stored and by what is exact.
func wantHeld(t *testing.T, s *system.System, pending int64) {
	t.Helper()
	pair := events.Pair{Account: "jane", Asset: "USD"}
	stored, err := views.NewLists(s.Client, s.Table).Balance(t.Context(), pair)
	if err != nil || stored.Head.PendingDebits != events.NewAmount(pending) {
		t.Errorf("%d are pending, stored are %+v: %v", pending, stored.Head, err)
	}
}
