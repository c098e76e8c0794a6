package verify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	template "ledger.example"
	"ledger.example/cmd/ledger/audit"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// underLoad runs writers on the accounts of the book and the real pump and projector beside them, for as long as do takes, in
// a store whose transactions become visible item by item.
func underLoad(t *testing.T, b book, do func(client *dynamodb.Client, posted func() int64)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The scheduler decides how long a transaction is half there.
	store := memory.New(memory.Options{Between: func(context.Context) { <-time.After(time.Duration(rand.IntN(200)) * time.Microsecond) }, Violation: func(error) {}})
	client := store.DynamoDB()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	described, err := local.CreateTable(ctx, client, in, books)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range b {
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: new(books), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	settings.Window = 0
	serving, err := service.New(service.Config{Client: client, Table: books, Actor: api.LocalActor, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	pumping, err := pump.New(pump.Options{
		Stream: store.Streams(), StreamARN: *described.LatestStreamArn, Handler: serving.Stream(), Settings: settings,
		SetAside: filepath.Join(t.TempDir(), "set-aside.jsonl"),
	})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(ledger.Config{Journal: journal.NewJournal(client, books), Projections: projections.NewReader(views.NewViews(client, books), nil)})
	var all errgroup.Group
	all.Go(func() error { return pumping.Run(ctx) })
	var done atomic.Int64
	for writer := range 4 {
		all.Go(func() error {
			for i := 0; ctx.Err() == nil; i++ {
				id := ledger.Annotation{ID: fmt.Sprintf("load-%d-%d", writer, i), Actor: "tester"}
				var request ledger.PostingRequest = ledger.PostTransfer{Annotation: id, From: "bank", To: "jane", Asset: "USD", Quantity: amount(7)}
				switch rand.IntN(3) {
				case 0:
					request = ledger.PostTransfer{Annotation: id, From: "jane", To: "bank", Asset: "USD", Quantity: amount(5)}
				case 1:
					request = ledger.PostTrade{Annotation: id, Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount(1), Cost: amount(3), Settle: true}
				}
				_, err := l.Post(ctx, request)
				var refused *ledger.Error
				if errors.As(err, &refused) && (refused.Code == ledger.CodeContention || refused.Code == ledger.CodeOutcomeUnknown) {
					continue // they get in each other's way
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
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("grant: %w", err)
			}
			time.Sleep(10 * time.Millisecond) // a rate, not a wait
		}
		return nil
	})
	do(client, done.Load)
	cancel()
	if err := all.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
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
	more(b[table.SpendKey("jane", "USD")], table.AttrSpent, -1)
	segment := b.segments("jane", "USD")[1]
	more(b[segment], table.AttrCredits, 1)
	balance := table.BalanceKey("market", "AAPL")
	for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
		more(b.within(balance, fold), table.AttrCredits, 1)
	}
	gap := b.segments("jane", "AAPL")[0]
	b.drop(gap)
	header := gold
	b.set(header, "Fingerprint", wire.String("1:none"))
	underLoad(t, b, func(client *dynamodb.Client, _ func() int64) {
		for range 2 {
			report := verifyAtOnce(t, client)
			found := make(map[want]bool)
			for _, f := range report.Findings {
				found[want{f.Code, f.Key, f.Attribute}] = true
			}
			for _, w := range []want{
				{audit.GuardWrong, table.SpendKey("jane", "USD"), table.AttrSpent}, {audit.SegmentWrong, segment, ""},
				{audit.BalanceWrong, balance, ""}, {audit.SegmentMissing, gap, ""}, {audit.FingerprintDiffers, header, "Fingerprint"},
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
