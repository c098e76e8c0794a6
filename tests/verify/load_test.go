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
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/setup"
)

// underLoad runs writers on the accounts of the book and the real pump and projector beside them, for as long as do
// takes, in a store whose transactions become visible item by item.
func underLoad(t *testing.T, b book, do func(client *dynamodb.Client, posted func() int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The scheduler decides how long a transaction is half there.
	store := setup.Memory(memdb.Options{
		Between:   func(context.Context) { <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond) },
		Violation: func(error) {},
	})
	client := store.Client()
	stream := setup.Table(t, client, books)
	b.write(t, client)
	pumped := setup.Service(t, client, books, api.LocalCaller)
	setup.Pump(t, store.Streams, stream, pumped, pumped)
	l := newLedger(client, nil)
	var all errgroup.Group
	var done atomic.Int64
	for writer := range 4 {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				id := about(fmt.Sprintf("load-%d-%d", writer, i))
				var request ledger.PostingRequest = transfer(id, "bank", "jane", "USD", 7)
				switch rand.IntN(3) {
				case 0:
					request = transfer(id, "jane", "bank", "USD", 5)
				case 1:
					request = ledger.PostTrade{Annotation: id, Asset: "AAPL", Buyer: "jane", Seller: "market",
						Quantity: amount(1), Cost: amount(3), Settle: true}
				}
				_, err := l.Post(ctx, request)
				if inTheWay(err) {
					continue
				}
				if err != nil && ctx.Err() == nil {
					return fmt.Errorf("post: %w", err)
				}
				done.Add(1)
			}
			return nil
		})
	}
	all.Go(func() error {
		for i := 0; ctx.Err() == nil; i++ {
			role := []events.Role{events.RoleViewer, events.RoleOperator, events.RoleOwner}[i%3]
			_, err := l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-9", Role: role, Actor: "tester"})
			if err != nil && !inTheWay(err) && ctx.Err() == nil {
				return fmt.Errorf("grant: %w", err)
			}
			time.Sleep(10 * time.Millisecond) // a rate, not a wait
		}
		return nil
	})
	for writer := range 2 {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				if err := liveOnce(ctx, l, fmt.Sprintf("life-%d-%d", writer, i)); err != nil && ctx.Err() == nil {
					return err
				}
				done.Add(1)
				if writer == 0 && i == 10 { // one that was placed long ago
					_, err := l.Release(ctx, ledger.ReleaseRequest{Transaction: "h-open", Actor: "tester"})
					if err != nil && !inTheWay(err) && ctx.Err() == nil {
						return fmt.Errorf("release: %w", err)
					}
				}
			}
			return nil
		})
	}
	do(client, done.Load)
	cancel()
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// inTheWay reports whether a command was refused because others were in its way until its time was over.
func inTheWay(err error) bool {
	refused, ok := errors.AsType[*ledger.Error](err)
	busy := []ledger.Code{ledger.CodeContention, ledger.CodeOutcomeUnknown, ledger.CodeUnavailable}
	return ok && slices.Contains(busy, refused.Code)
}

// liveOnce holds some of ann's for shop and ends the hold in one of the ways, or leaves it. What was captured is taken
// back. Now and then it changes an account.
func liveOnce(ctx context.Context, l *ledger.Ledger, id string) error {
	note, earned := about(id), about(id+"-in")
	note.Hold = &ledger.HoldRequest{}
	steps := []func() error{
		func() error {
			_, err := l.Post(ctx, transfer(earned, "bank", "ann", "USD", 9))
			return err
		},
		func() error {
			_, err := l.Post(ctx, transfer(note, "ann", "shop", "USD", 9))
			return err
		},
	}
	switch rand.IntN(4) {
	case 0:
	case 1:
		steps = append(steps, func() error {
			_, err := l.Release(ctx, ledger.ReleaseRequest{Transaction: id, Actor: "tester"})
			return err
		})
	default:
		steps = append(steps, func() error {
			_, err := l.Capture(ctx, ledger.CaptureRequest{Transaction: id, Part: part(4, 0), Actor: "tester"})
			return err
		}, func() error {
			_, err := l.Reverse(ctx, ledger.ReverseRequest{Annotation: about(id + "-back"), Transaction: id,
				Part: part(int64(1+rand.IntN(4)), 0)})
			return err
		})
	}
	if rand.IntN(4) == 0 {
		steps = append(steps, func() error {
			_, err := l.ChangeAccount(ctx, ledger.ChangeAccount{ID: "ann", Name: new(id), Actor: "tester"})
			return err
		})
	}
	for _, step := range steps {
		if err := step(); inTheWay(err) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

// verifyAtOnce audits with the pauses of real audits, a tenth as long.
func verifyAtOnce(t *testing.T, client *dynamodb.Client) audit.Report {
	t.Helper()
	report, err := audit.New(audit.Options{
		Store: client, Table: books, Findings: 100, Settle: audit.DefaultSettle,
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

// transactions is how many are posted while a sound table is audited again and again.
var transactions = flag.Int64("transactions", 100, "transactions to be posted while a sound table is audited")

func TestASoundTableUnderLoadGivesNoFindings(t *testing.T) {
	underLoad(t, copyOfBook(t), func(client *dynamodb.Client, posted func() int64) {
		audits := 0
		for ; !t.Failed() && (posted() < *transactions || audits < 3); audits++ {
			if report := verifyAtOnce(t, client); !report.Sound() {
				t.Errorf("%+v", report)
			}
		}
		t.Logf("%d audits, %d transactions", audits, posted())
	})
}

// What is wrong below what moves is found all the same, and nothing else.
func TestCorruptionIsFoundUnderLoad(t *testing.T) {
	b := copyOfBook(t)
	b.add(table.SpendKey("jane", "USD"), table.AttrSpent, -1)
	segment := b.segments("jane", "USD")[1]
	b.add(segment, table.AttrCredits, 1)
	balance := table.BalanceKey("market", "AAPL")
	for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
		b.add(balance, fold+"."+table.AttrCredits, 1)
	}
	gap := b.segments("jane", "AAPL")[0]
	b.drop(gap)
	header := gold
	b.set(header, "Fingerprint", ddb.String("1:none"))
	underLoad(t, b, func(client *dynamodb.Client, _ func() int64) {
		for range 2 {
			report := verifyAtOnce(t, client)
			found := make(map[want]bool)
			for _, f := range report.Findings {
				found[want{f.Code, f.Key, f.Attribute}] = true
			}
			for _, w := range []want{
				{audit.GuardWrong, table.SpendKey("jane", "USD"), table.AttrSpent}, {audit.SegmentWrong, segment, ""},
				{audit.BalanceWrong, balance, ""}, {audit.SegmentMissing, gap, ""},
				{audit.FingerprintDiffers, header, "Fingerprint"},
				{audit.ChecksumDiffers, header, table.AttrChecksum},
			} {
				if !found[w] {
					t.Errorf("not found: %+v", w)
				}
				delete(found, w)
			}
			if len(found) > 0 {
				t.Errorf("found too: %+v", found)
			}
		}
	})
}
