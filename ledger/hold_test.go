package ledger_test

import (
	"testing"
	"time"

	"ledger.example/events"
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
		p.Cost = amount(cost[0])
	}
	return p
}

func parts(of ...[2]string) ledger.Part {
	p := ledger.Part{Postings: []events.Taken{}}
	for _, one := range of {
		p.Postings = append(p.Postings, events.Taken{Quantity: amount(one[0]), Cost: amount(one[1])})
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
			if err != nil || !posted.Transaction.ExpiresAt.Equal(storeNow().Add(c.want).Truncate(time.Microsecond)) {
				t.Errorf("%s: %v, %v", id, posted.Transaction.ExpiresAt, err)
			}
		}
		request := held("h-1", "jane", "shop", "1", time.Second)
		first := r.mustPost(request)
		time.Sleep(time.Minute)
		if again := r.mustPost(request); !again.Replayed || again.Status() != ledger.StatusHeld ||
			again.Transaction.ExpiresAt != first.Transaction.ExpiresAt {
			t.Errorf("again: %+v", again)
		}
		for _, other := range []ledger.PostTransfer{transfer("h-1", "jane", "shop", "1"), held("h-1", "jane", "shop", "1", -time.Second)} {
			_, err := r.post(other)
			r.refused(err, ledger.CodeTransactionIDReused)
		}
	})
}
