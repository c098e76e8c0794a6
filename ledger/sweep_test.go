package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/ledger"
)

// held returns a transfer as a hold that expires after a time.
func held(id, from, to, quantity string, after time.Duration) ledger.PostTransfer {
	at := storeNow().Add(after)
	r := transfer(id, from, to, quantity)
	r.Hold = &ledger.HoldRequest{ExpiresAt: &at}
	return r
}

func capture(id string, part ledger.Part) ledger.CaptureRequest {
	return ledger.CaptureRequest{Transaction: id, Part: part, Actor: "tester"}
}

func release(id string) ledger.ReleaseRequest {
	return ledger.ReleaseRequest{Transaction: id, Actor: "tester"}
}

// some is a part with a quantity and optionally a cost.
func some(quantity string, cost ...string) ledger.Part {
	q := amount(quantity)
	p := ledger.Part{Quantity: &q}
	if len(cost) > 0 {
		p.Cost = new(amount(cost[0]))
	}
	return p
}

func parts(of ...[2]string) ledger.Part {
	p := ledger.Part{Postings: []ledger.LegPart{}}
	for _, one := range of {
		p.Postings = append(p.Postings, ledger.LegPart{Quantity: amount(one[0]), Cost: new(amount(one[1]))})
	}
	return p
}

// A hold that was placed before is replayed, even if its time of expiry is not valid any more.
func TestTimeOfExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		const day = 24 * time.Hour
		r.fund("jane", "USD", "1000")
		at := func(after time.Duration) *ledger.HoldRequest {
			expires := storeNow().Add(after)
			return &ledger.HoldRequest{ExpiresAt: &expires}
		}
		for id, c := range map[string]struct {
			hold *ledger.HoldRequest
			want time.Duration // 0: refused
		}{
			"default": {&ledger.HoldRequest{}, 7 * day}, "soon": {at(time.Millisecond), time.Millisecond},
			"last": {at(31 * day), 31 * day}, "now": {at(0), 0}, "past": {at(-time.Second), 0},
			"far": {at(31*day + time.Millisecond), 0}, "zero": {&ledger.HoldRequest{ExpiresAt: &time.Time{}}, 0},
		} {
			request := transfer(id, "jane", "shop", "1")
			request.Hold = c.hold
			posted, err := r.post(request)
			if c.want == 0 {
				e := r.refused(err, ledger.CodeInvalidRequest)
				if names := ledger.Names(e.Fields); len(names) != 1 || names[0] != "hold.expires_at" {
					t.Errorf("%s: %v", id, names)
				}
				continue
			}
			if err != nil || !posted.Header.ExpiresAt.Equal(storeNow().Add(c.want).Truncate(time.Microsecond)) {
				t.Errorf("%s: %v, %v", id, posted.Header.ExpiresAt, err)
			}
		}
		request := held("h-1", "jane", "shop", "1", time.Second)
		first := r.mustPost(request)
		time.Sleep(time.Minute)
		if again := r.mustPost(request); !again.Replayed || again.Status() != events.StatusHeld ||
			again.Header.ExpiresAt != first.Header.ExpiresAt {
			t.Errorf("again: %+v", again)
		}
		for _, other := range []ledger.PostTransfer{transfer("h-1", "jane", "shop", "1"), held("h-1", "jane", "shop", "1", -time.Second)} {
			_, err := r.post(other)
			r.refused(err, ledger.CodeTransactionIDReused)
		}
	})
}

// holds lets jane hold 1 USD n times until an hour from now, and lists the holds. It returns their ids.
func (r *rig) holds(n int) (ids []string) {
	r.t.Helper()
	r.fund("jane", "USD", fmt.Sprint(n))
	for i := range n {
		ids = append(ids, fmt.Sprintf("h-%03d", i))
		r.mustPost(held(ids[i], "jane", "shop", "1", time.Hour))
	}
	r.journal.ListHolds(ids...)
	r.journal.forget()
	return ids
}

func (r *rig) statusOf(id string) events.Status {
	r.t.Helper()
	lifecycle, err := r.another().Lifecycle(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return lifecycle.Status()
}

// A sweep ends all due holds, and no others. The number of its requests depends only on them.
func TestSweep(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ids := r.holds(50)
		r.fund("bob", "USD", "1")
		r.mustPost(held("later", "bob", "shop", "1", 2*time.Hour))
		r.journal.ListHolds("later")
		if _, err := r.another().Post(t.Context(), release("h-000")); err != nil { // the list does not show it yet
			t.Fatal(err)
		}
		for _, pause := range []time.Duration{0, time.Hour} { // and 5 s have not passed yet
			time.Sleep(pause)
			r.journal.forget()
			swept, err := r.Sweep(t.Context())
			if err != nil || swept != (ledger.Swept{}) || len(r.journal.calls) != 2 {
				t.Errorf("%+v, %v, %d requests", swept, err, len(r.journal.calls))
			}
		}
		time.Sleep(65 * time.Second)
		r.journal.forget()
		swept, err := r.Sweep(t.Context())
		want := ledger.Swept{Due: 50, Expired: 49, Ended: 1, Delay: swept.Delay}
		if err != nil || swept != want || swept.Delay < time.Minute || swept.Delay > 70*time.Second {
			t.Errorf("%+v, %v", swept, err)
		}
		lists, reads, writes := r.journal.count("DueHolds"), r.journal.count("Lifecycle"), len(r.journal.sent)
		if lists != 1 || reads != 50 || writes != 49 {
			t.Errorf("%d lists, %d reads, %d writes", lists, reads, writes)
		}
		for i, id := range ids {
			if status := r.statusOf(id); (status == events.StatusExpired) != (i > 0) {
				t.Errorf("%s is %s", id, status)
			}
		}
		if status := r.statusOf("later"); status != events.StatusHeld {
			t.Errorf("later is %s", status)
		}
		if log := r.log.String(); !strings.Contains(log, "HoldsExpired=49") || !strings.Contains(log, "ExpiryDelay=6") {
			t.Errorf("log: %s", log)
		}
		// The list still has all of them: the sweep finds that they ended, and reports no delay.
		if swept, err = r.Sweep(t.Context()); err != nil || swept != (ledger.Swept{Due: 50, Ended: 50}) {
			t.Errorf("again: %+v, %v", swept, err)
		}
		r.journal.ListHolds(ids...)
		if swept, err = r.Sweep(t.Context()); err != nil || swept != (ledger.Swept{}) {
			t.Errorf("listed as ended: %+v, %v", swept, err)
		}
	})
}

// A list that cannot be read is an error and leaves the delay unknown. The other lanes are swept.
func TestSweepWithAnUnreadableList(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		grown := events.LanesGrown{Number: 1, Lanes: 4, From: time.Now().UTC().Truncate(time.Second)}
		if _, err := r.journal.book.table.Write(t.Context(), table.Write{Item: table.EventItem(grown)}); err != nil {
			t.Fatal(err)
		}
		r.holds(20)
		time.Sleep(2 * time.Hour)
		odd := errors.New("odd")
		var asked atomic.Int64
		r.journal.fail = func(method string) error {
			if method == "DueHolds" {
				if asked.Add(1) == 1 {
					return odd
				}
			}
			return nil
		}
		swept, err := r.Sweep(t.Context())
		if !errors.Is(err, odd) || swept.Expired == 0 || swept.Expired == 20 {
			t.Errorf("%+v, %v", swept, err)
		}
		if log := r.log.String(); strings.Contains(log, "ExpiryDelay") || !strings.Contains(log, "odd") {
			t.Errorf("log: %s", log)
		}
		if swept, err = r.Sweep(t.Context()); err != nil || swept.Due != 20 || swept.Failed != 0 {
			t.Errorf("%+v, %v", swept, err)
		}
		// A store that does not answer is no end of the sweep's own time.
		r.journal.fail = failing("DueHolds", fmt.Errorf("%w: %w", table.ErrUnavailable, context.DeadlineExceeded))
		if swept, err = r.Sweep(t.Context()); !errors.Is(err, table.ErrUnavailable) || swept.Partial {
			t.Errorf("%+v, %v", swept, err)
		}
		time.Sleep(2 * time.Minute) // then the log of lanes is read again
		r.journal.fail = failing("Newest", odd)
		if swept, err = r.Sweep(t.Context()); !errors.Is(err, odd) || swept != (ledger.Swept{}) {
			t.Errorf("without the log of lanes: %+v, %v", swept, err)
		}
	})
}

// A sweep ends within its minute even if the store does not answer, and reports that it is partial.
func TestSweepEndsInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holds(100)
		time.Sleep(2 * time.Hour)
		r.journal.forever = hangs
		begun := time.Now()
		swept, err := r.Sweep(t.Context())
		if took := time.Since(begun); err != nil || took > 55*time.Second || !swept.Partial || swept.Failed == 0 || swept.Failed == 100 {
			t.Errorf("%+v, %v after %v", swept, err, took)
		}
		r.journal.forever = nil
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		r.journal.fail = func(method string) error {
			if method == "DueHolds" {
				time.Sleep(time.Second)
			}
			return nil
		}
		if swept, err = r.Sweep(ctx); err != nil || !swept.Partial || swept.Due != 0 {
			t.Errorf("%+v, %v", swept, err)
		}
		r.journal.fail = nil
		time.Sleep(time.Minute)
		if swept, err = r.Sweep(t.Context()); err != nil || swept.Expired+swept.Ended != 100 || swept.Partial {
			t.Errorf("%+v, %v", swept, err)
		}
	})
}

// Every list is read to its end, even if its pages have one item, and come after empty ones. Malformed entries of due
// holds are skipped.
func TestListsAreReadToTheirEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.holds(3)
		odd := table.KeyItem(table.Key{PK: table.Hold.Prefix() + "2020", SK: "ODD"})
		odd[table.AttrPK2] = table.String(table.OpenHold.PK2("0"))
		if _, err := r.journal.book.table.Write(t.Context(), table.Write{Item: odd}); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "bank", "shop", "9"))
		r.journal.book.table = table.NewTable(r.journal.memory.DynamoDB(tabletest.Cut), tableName)
		r.restart()

		for _, id := range []string{"r-1", "r-2"} {
			if _, err := r.Post(t.Context(), reversal(id, "t-1", some("2"))); err != nil {
				t.Error(err)
			}
		}
		if lifecycle, err := r.Lifecycle(t.Context(), "t-1"); err != nil || len(lifecycle.Reversals) != 2 {
			t.Errorf("%+v, %v", lifecycle.Reversals, err)
		}
		if _, err := r.Grant(t.Context(), grant(events.RoleOwner)); err != nil || r.newest() != "1 owner" {
			t.Errorf("newest %s, %v", r.newest(), err)
		}
		if err := r.Revoke(t.Context(), revoke); err != nil || r.newest() != "2 revoked" {
			t.Errorf("newest %s, %v", r.newest(), err)
		}
		r.journal.Guard(pair("jane", "AAPL"))
		r.state("jane", isFrozen)
		if v := r.guardVersion("jane"); v != 2 { // in USD, on the second page
			t.Errorf("the guard has version %d", v)
		}
		time.Sleep(2 * time.Hour)
		want := ledger.Swept{Due: 3, Expired: 3}
		swept, err := r.Sweep(t.Context())
		if swept.Delay = 0; err != nil || swept != want {
			t.Errorf("%+v, %v", swept, err)
		}
	})
}
