package simulation

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger"
)

// TestBackdatedCreditIsSpentOnceItIsProjected posts a backdated credit while the write of a refold is under way. The
// refold read before, and its write moves the seal past the credit. So until the credit is projected, it is neither
// shown nor spent: a debit that it covered would be shown without it, below the limit.
func TestBackdatedCreditIsSpentOnceItIsProjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx, k := newStage(t, nil, ledger.OpenAccount{ID: jane}), t.Context(), pair{Account: jane, Asset: usd}
		l, reader, projector := s.process(func(any) time.Duration { return 0 })
		_, _, slow := s.process(func(parameters any) time.Duration {
			if _, reads := parameters.(*dynamodb.QueryInput); reads {
				return 0
			}
			if _, reads := parameters.(*dynamodb.GetItemInput); reads {
				return 0
			}
			return 3 * time.Second
		})
		post := func(r ledger.PostTransfer) events.KSUID {
			answer, err := l.Post(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			if r.To == jane {
				i = 1
			}
			return answer.Transaction.Legs[i].ID
		}
		project := func(id events.KSUID) {
			if err := projector.Refold(ctx, k, []events.KSUID{id}); err != nil {
				t.Error(err)
			}
		}
		shown := func(want int64) {
			if b, err := reader.Balance(ctx, k, new(events.Amount)); err != nil || int64Of(b.Head.Quantity()) != want {
				t.Errorf("a strong read shows %v (%v), not %d", b.Head.Quantity(), err, want)
			}
		}

		project(post(s.transfer("funds", bank, jane, 100, 0)))
		project(post(s.transfer("spent", jane, bank, 1, 0)))
		time.Sleep(time.Minute)
		got := post(s.transfer("got", bank, jane, 1, 0))
		refolded := make(chan error, 1)
		go func() { refolded <- slow.Refold(ctx, k, []events.KSUID{got}) }()
		time.Sleep(time.Second)
		credit := post(s.transfer("credit", bank, jane, 1000, time.Hour))
		shown(100)
		_, err := l.Post(ctx, s.transfer("early", jane, bank, 900, 0))
		if e, ok := errors.AsType[*ledger.Error](err); !ok || e.Code != ledger.CodeInsufficientFunds ||
			int64Of(e.Funds.Available) != 100 {
			t.Errorf("the debit is answered with %v", err)
		}
		shown(100)
		if err := <-refolded; err != nil {
			t.Error(err)
		}
		shown(100)
		project(credit)
		shown(1100)
		post(s.transfer("late", jane, bank, 900, 0))
		shown(200)
	})
}
