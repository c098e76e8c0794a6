package stack

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// A failing or hanging lister does not delay the projector, and a projector does not delay the lister. Each gets all
// events once it works.
func TestConsumersAreIndependent(t *testing.T) {
	for _, broken := range []string{"lister", "projector"} {
		for _, how := range []string{"fails", "hangs"} {
			t.Run(broken+" "+how, func(t *testing.T) {
				t.Parallel()
				feedWithABroken(t, broken, how == "hangs")
			})
		}
	}
}

const fed = 250 // number of events of each kind: several batches

func feedWithABroken(t *testing.T, broken string, hangs bool) {
	ctx, end := context.WithCancel(t.Context())
	s, err := Open(ctx, Options{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.CreateTable(ctx, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	var failed atomic.Int32
	repaired := make(chan struct{})
	seen := map[string]*atomic.Int32{"projector": {}, "lister": {}}
	function := func(name string) func(context.Context, lambdaevents.DynamoDBEvent) (
		lambdaevents.DynamoDBEventResponse, error,
	) {
		return func(_ context.Context, e lambdaevents.DynamoDBEvent) (
			answer lambdaevents.DynamoDBEventResponse, err error,
		) {
			if name == broken {
				select {
				case <-repaired:
				default:
					failed.Add(1)
					if !hangs {
						return answer, errors.New("broken")
					}
					<-repaired
				}
			}
			seen[name].Add(int32(len(e.Records)))
			return answer, nil
		}
	}
	f, err := s.Feed("ledger", stream, function("projector"), function("lister"),
		filepath.Join(t.TempDir(), "dead-letters.jsonl"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f {
		c.options.Settings.Window = 0
		if err := c.setStream(stream); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	for i := range fed {
		id := string(rune('A'+i%26)) + string(rune('A'+i/26))
		for _, key := range []table.Key{table.Transaction.Key(id), table.Posting.Key(id, "USD", "k")} {
			name := "ledger"
			if _, err := s.Tables.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: table.KeyItem(key)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: projector %d, lister %d of %d", what, seen["projector"].Load(), seen["lister"].Load(), fed)
			}
		}
	}
	other := map[string]string{"lister": "projector", "projector": "lister"}[broken]
	until("the other goes on", func() bool { return seen[other].Load() == fed && failed.Load() > 0 })
	if n := seen[broken].Load(); n != 0 {
		t.Errorf("the broken one got %d", n)
	}
	close(repaired)
	until("the broken one catches up", func() bool { return seen[broken].Load() == fed })
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
