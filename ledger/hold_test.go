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

// G11: held funds cannot be spent, released funds can, and the credits of a hold are not available.
func TestHeldFunds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		placed := r.mustPost(held("h-1", "jane", "shop", "80", time.Hour))
		if placed.Replayed || placed.Status() != ledger.StatusHeld || placed.Transaction.ExpiresAt.IsZero() {
			t.Errorf("placed %+v", placed)
		}
		_, err := r.post(transfer("t-1", "jane", "bob", "21"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("20") {
			t.Errorf("funds %+v", *e.Funds)
		}
		_, err = r.post(held("h-2", "jane", "bob", "21", time.Hour))
		r.refused(err, ledger.CodeInsufficientFunds)
		_, err = r.post(transfer("t-2", "shop", "bob", "1"))
		r.refused(err, ledger.CodeInsufficientFunds)

		ended, err := r.Post(t.Context(), capture("h-1", some("30")))
		if err != nil || ended.Replayed || ended.Status() != ledger.StatusCaptured {
			t.Fatal(ended, err)
		}
		r.mustPost(transfer("t-3", "shop", "bob", "30"))
		_, err = r.post(transfer("t-4", "jane", "bob", "71"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("70") {
			t.Errorf("funds %+v", *e.Funds)
		}
		r.mustPost(transfer("t-5", "jane", "bob", "70"))
		lifecycle, err := r.Lifecycle(t.Context(), "h-1")
		if err != nil || lifecycle.Status() != ledger.StatusCaptured ||
			lifecycle.Posted()[0].Quantity != amount("-30") {
			t.Error(lifecycle, err)
		}
		again, err := r.Post(t.Context(), capture("h-1", some("30", "0")))
		if err != nil || !again.Replayed || again.End.Legs[0] != ended.End.Legs[0] {
			t.Error(again, err)
		}
		_, err = r.Post(t.Context(), capture("h-1", some("31")))
		if e := r.refused(err, ledger.CodeHoldEnded); e.HoldStatus != ledger.StatusCaptured {
			t.Error(e)
		}
	})
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

// A hold that debits and credits one account needs funds for all its debits, because its credits are posted only at its
// capture.
func TestAHoldNeedsItsGrossDebits(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		request := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "h-1", Actor: "tester", Hold: &ledger.HoldRequest{}},
			Postings: []ledger.LegRequest{
				{Account: "jane", Asset: "USD", Quantity: amount("-101")}, {Account: "jane", Asset: "USD", Quantity: amount("100")},
				{Account: "shop", Asset: "USD", Quantity: amount("1")},
			}}
		_, err := r.post(request)
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("100") || e.Funds.Requested != amount("101") {
			t.Errorf("funds %+v", *e.Funds)
		}
		request.Postings[0].Quantity, request.Postings[1].Quantity = amount("-100"), amount("99")
		r.mustPost(request)
		if _, err := r.Post(t.Context(), capture("h-1", parts([2]string{"-100", "0"}, [2]string{"99", "0"}, [2]string{"1", "0"}))); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "jane", "shop", "99"))
	})
}
