package verify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/ledger"
	"ledger.example/tests/harness/setup"
)

// underLoad calls do while writers change the accounts of the book and the real pump and projector run. Transactions
// become visible item by item.
func underLoad(t *testing.T, b book, do func(client *dynamodb.Client, posted func() int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// A transaction is partly visible for a random time.
	db := setup.Memory(memdb.Options{
		Between:   func(context.Context) { <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond) },
		Violation: func(error) {},
	})
	client := db.Client()
	stream := setup.Table(t, client, books)
	b.write(t, client)
	pumped := setup.Service(t, client, books, api.LocalCaller)
	setup.Pump(t, db.Streams, stream, pumped, pumped)
	l := newLedger(client, nil)
	var all errgroup.Group
	var done atomic.Int64
	// write calls attempt with 0, 1 and so on until the end. Contention is not an error.
	write := func(attempt func(i int) error) {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := attempt(i); err != nil && !isContention(err) && ctx.Err() == nil {
					return err
				}
			}
			return nil
		})
	}
	for writer := range 4 {
		write(func(i int) error {
			id := about(fmt.Sprintf("load-%d-%d", writer, i))
			var request ledger.Request = transfer(id, "bank", "jane", "USD", 7)
			switch rand.IntN(3) {
			case 0:
				request = transfer(id, "jane", "bank", "USD", 5)
			case 1:
				request = ledger.PostTrade{Annotation: id, Asset: "AAPL", Buyer: "jane", Seller: "market",
					Quantity: amount(1), Cost: amount(3), Settle: true}
			}
			_, err := l.Post(ctx, request)
			if err == nil {
				done.Add(1)
			}
			return err
		})
	}
	write(func(i int) error { // anywhere among the others, in segments and before them
		id := about(fmt.Sprintf("past-%d", i))
		id.EffectiveAt = new(time.Now().Add(-time.Minute - rand.N(2*time.Hour)))
		from, to := "jane", "bank"
		if i%2 == 0 {
			from, to = to, from
		}
		_, err := l.Post(ctx, transfer(id, from, to, "USD", 1))
		if err == nil {
			done.Add(1)
		}
		return err
	})
	write(func(i int) error {
		role := []events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner}[i%3]
		time.Sleep(10 * time.Millisecond) // limits the rate
		_, err := l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-9", Role: role, Actor: "tester"})
		return err
	})
	write(func(i int) error {
		time.Sleep(10 * time.Millisecond) // limits the rate
		_, _, err := l.GroupAccount(ctx, ledger.GroupAccount{Group: []string{"desk", "idle"}[i%2], Account: "ann",
			Out: i%4 > 1, Actor: "tester"})
		return err
	})
	for writer := range 2 {
		write(func(i int) error {
			if err := holdOnce(ctx, l, fmt.Sprintf("life-%d-%d", writer, i)); err != nil {
				return err
			}
			done.Add(1)
			if writer > 0 || i != 10 {
				return nil
			}
			// End a hold that was placed long ago.
			_, err := l.Post(ctx, ledger.ReleaseRequest{Transaction: "h-open", Actor: "tester"})
			return err
		})
	}
	do(client, done.Load)
	cancel()
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// isContention reports whether a command failed because of concurrent commands.
func isContention(err error) bool {
	refused, ok := errors.AsType[*ledger.Error](err)
	busy := []ledger.Code{ledger.CodeContention, ledger.CodeOutcomeUnknown, ledger.CodeUnavailable}
	return ok && slices.Contains(busy, refused.Code)
}

// holdOnce places a hold from ann to shop. It releases the hold, or captures and reverses it, or leaves it open.
// Sometimes it changes the account, too.
func holdOnce(ctx context.Context, l *ledger.Ledger, id string) error {
	note := about(id)
	note.Hold = &ledger.HoldRequest{}
	requests := []ledger.Request{transfer(about(id+"-in"), "bank", "ann", "USD", 9), transfer(note, "ann", "shop", "USD", 9)}
	switch rand.IntN(4) {
	case 0:
	case 1:
		requests = append(requests, ledger.ReleaseRequest{Transaction: id, Actor: "tester"})
	default:
		requests = append(requests, ledger.CaptureRequest{Transaction: id, Part: part(4, 0), Actor: "tester"},
			ledger.ReverseRequest{Annotation: about(id + "-back"), Transaction: id, Part: part(int64(1+rand.IntN(4)), 0)})
	}
	for _, r := range requests {
		if _, err := l.Post(ctx, r); err != nil {
			return err
		}
	}
	if rand.IntN(4) > 0 {
		return nil
	}
	metadata := map[string]string{"order": id}
	if rand.IntN(3) == 0 {
		metadata = nil
	}
	_, err := l.ChangeAccount(ctx, ledger.ChangeAccount{ID: "ann", Name: new(id), Metadata: &metadata, Actor: "tester"})
	return err
}

// verifyWithPauses audits with a tenth of the usual pauses.
func verifyWithPauses(t *testing.T, client *dynamodb.Client) audit.Report {
	t.Helper()
	report, err := audit.New(audit.Options{
		Store: client, Table: books, Findings: 100, Settle: audit.DefaultSettle, Indexed: indexed[:1], // as the service
		Pause: func(ctx context.Context, d time.Duration) error {
			select {
			case <-time.After(d / 10):
			case <-ctx.Done():
			}
			return ctx.Err()
		},
	}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

var transactions = flag.Int64("transactions", 100, "transactions to post while a sound table is audited")

func TestSoundTableUnderLoadHasNoFindings(t *testing.T) {
	underLoad(t, copyOfBook(t), func(client *dynamodb.Client, posted func() int64) {
		audits := 0
		for ; !t.Failed() && (posted() < *transactions || audits < 3); audits++ {
			if report := verifyWithPauses(t, client); !report.Sound() {
				t.Error(some(report.Findings))
			}
		}
		t.Logf("%d audits, %d transactions", audits, posted())
	})
}

// Corruption is found during concurrent writes, without other findings. The guard is the exception: its debits must
// stand still for an audit to be sure, so an audit may count it as unsettled until the writers end.
func TestCorruptionIsFoundUnderLoad(t *testing.T) {
	b := copyOfBook(t)
	guard := want{audit.GuardWrong, table.Spend.Key("jane", "USD"), table.AttrSpent}
	b.add(guard.key, guard.attribute, -1)
	segment := b.segments("jane", "USD")[1]
	b.add(segment, table.AttrCredits, 1)
	balance := table.Balance.Key("market", "AAPL")
	for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
		b.add(balance, fold+"."+table.AttrCredits, 1)
	}
	gap := b.segments("jane", "AAPL")[0]
	b.drop(gap)
	header := gold
	b.set(header, "Fingerprint", table.String("1:none"))
	// verify reports the findings that are missing, or that nothing planted explains.
	verify := func(client *dynamodb.Client, isLoaded bool) {
		report := verifyWithPauses(t, client)
		found := make(map[want]bool)
		for _, f := range report.Findings {
			found[want{f.Code, f.Key, f.Attribute}] = true
		}
		for _, w := range []want{
			guard, {audit.SegmentWrong, segment, ""},
			{audit.BalanceWrong, balance, ""}, {audit.SegmentMissing, gap, ""},
			{audit.FingerprintDiffers, header, "Fingerprint"},
			{audit.ChecksumDiffers, header, table.AttrChecksum},
		} {
			if !found[w] && (w != guard || !isLoaded || report.Unsettled == 0) {
				t.Errorf("missing finding, under load %t: %+v", isLoaded, w)
			}
			delete(found, w)
		}
		if len(found) > 0 {
			t.Errorf("unexpected findings, under load %t: %s", isLoaded, some(report.Findings))
		}
	}
	var last *dynamodb.Client
	underLoad(t, b, func(client *dynamodb.Client, _ func() int64) {
		last = client
		for range 2 {
			verify(client, true)
		}
	})
	verify(last, false)
}
