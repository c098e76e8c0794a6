package verify

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/projections"
)

// pairHook is a store that calls a function ahead of each read of one key, or of a range that begins there.
type pairHook struct {
	audit.Store
	mu    sync.Mutex
	ahead func(sk string)
}

func (h *pairHook) call(partition, sk string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if partition == table.Account.PK("jane") {
		h.ahead(sk)
	}
}

func (h *pairHook) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	h.call(table.TextOf(in.Key[table.AttrPK]), table.TextOf(in.Key[table.AttrSK]))
	return h.Store.GetItem(ctx, in, o...)
}

func (h *pairHook) Query(ctx context.Context, in *dynamodb.QueryInput,
	o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	h.call(table.TextOf(in.ExpressionAttributeValues[":partition"]), table.TextOf(in.ExpressionAttributeValues[":from"]))
	return h.Store.Query(ctx, in, o...)
}

// debitor posts a debit of jane with an effective date, and returns its KSUID.
type debitor func(ago time.Duration) events.KSUID

// janeAudit audits a book whose jane backdates debits of USD during the audit.
func janeAudit(t *testing.T, ahead func(debit debitor, client *dynamodb.Client) func(sk string)) {
	t.Helper()
	client := copyOfBook(t).client(t)
	l, n := newLedger(client, nil), 0
	debit := func(ago time.Duration) events.KSUID {
		n++
		id := about(fmt.Sprintf("now-%d", n))
		id.EffectiveAt = new(time.Now().Add(-ago))
		posted, err := l.Post(t.Context(), transfer(id, "jane", "bank", "USD", 1))
		if err != nil {
			t.Fatal(err)
		}
		return posted.Header.Legs[0].ID
	}
	hook := &pairHook{Store: client, ahead: ahead(debit, client)}
	debit(time.Hour / 2) // no projector counts it, so that the audit looks again
	if report := verify(t, hook, audit.DefaultSettle); !report.Sound() {
		t.Error(some(report.Findings))
	}
	if n < 16 {
		t.Errorf("%d debits in all looks: this proves nothing", n)
	}
}

// A backdated debit is posted in each look between the reads of guard and postings, and another one after all postings
// were read: below the recent ones, with which the guard is then compared.
func TestGuardBesideBackdatedDebits(t *testing.T) {
	janeAudit(t, func(debit debitor, _ *dynamodb.Client) func(string) {
		isCompared, isCounted := false, false
		return func(sk string) {
			switch {
			case strings.HasPrefix(sk, table.Segment.Prefix()+"USD"):
				debit(time.Hour / 2)
				isCompared, isCounted = true, false
			case strings.HasPrefix(sk, table.Posting.Prefix()+"USD"):
				isCounted = isCompared
			case sk == table.Spend.Key("jane", "USD").SK && isCounted:
				debit(time.Hour / 2)
				isCompared, isCounted = false, false
			}
		}
	})
}

// Between two looks, a backdated debit is posted and projected below what the look before found right, and another one
// is posted that no projector counts, so that the looks go on. The last look must not begin there.
func TestLastLookBesideBackdatedDebits(t *testing.T) {
	janeAudit(t, func(debit debitor, client *dynamodb.Client) func(string) {
		stored := table.NewTable(client, books)
		jane := events.Pair{Account: "jane", Asset: "USD"}
		p := projections.NewProjector(stored, nil, nil)
		p.Tune(projections.Tuning{Stretch: segmentPostings, Segments: 90})
		refold := func(id events.KSUID) {
			if err := p.Refold(t.Context(), jane, []events.KSUID{id}); err != nil {
				t.Error(err)
			}
		}
		refold(debit(1000 * time.Hour)) // all that is settled by now is in the seal
		b, _, err := projections.NewViews(stored).Balance(t.Context(), jane)
		if err != nil || b.Base.Count == 0 {
			t.Fatalf("%+v, %v", b, err)
		}
		return func(sk string) {
			if sk != table.Balance.Key("jane", "USD").SK {
				return
			}
			late := debit(time.Since(b.Seal.Through.Time()) + time.Millisecond)
			if late <= b.Base.Through {
				t.Error("not in the open stretch: this proves nothing")
			}
			refold(debit(1000 * time.Hour))
		}
	})
}
