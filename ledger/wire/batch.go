package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

const (
	backoffBase = 25 * time.Millisecond
	backoffMax  = 400 * time.Millisecond
	// emptyAnswers is how often in a row the store may leave all that a batch asked for unread.
	emptyAnswers = 4
)

// backoff returns how long to wait before the next attempt after n failed ones: at random up to a bound that doubles,
// so that those who were declined together don't come back together.
func backoff(n int) time.Duration {
	most := min(backoffBase<<min(n, 10), backoffMax)
	// Drawn from the clock and not from the runtime's randomness: where a test sets the clock, the same happens again.
	return time.Duration(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Int64N(int64(most)))
}

// BatchGet reads the items of distinct keys, in one request for each table.BatchGetKeys of them, and those again that
// the store left unread. Items come in no order, and absent ones not at all. It returns the store's clock too, as the
// last reply told it. Errors: ErrThrottled, ErrUnavailable.
func BatchGet(ctx context.Context, client *dynamodb.Client, tableName string, keys []table.Key, strong bool) ([]Item, time.Time, error) {
	var (
		items   = make([]Item, 0, len(keys))
		at      time.Time
		pending []Item
		empty   int
	)
	for len(keys) > 0 || len(pending) > 0 {
		fresh := min(len(keys), table.BatchGetKeys-len(pending))
		for _, key := range keys[:fresh] {
			pending = append(pending, Key(key))
		}
		keys = keys[fresh:]

		out, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				tableName: {Keys: pending, ConsistentRead: aws.Bool(strong)},
			},
		})
		if err != nil {
			return nil, time.Time{}, ReadError(err)
		}
		items = append(items, out.Responses[tableName]...)
		at = StoreTime(out.ResultMetadata)

		unread := out.UnprocessedKeys[tableName].Keys
		if len(unread) == 0 {
			pending, empty = nil, 0
			continue
		}
		if len(unread) < len(pending) {
			empty = 0
		} else if empty++; empty == emptyAnswers {
			return nil, time.Time{}, fmt.Errorf("%w: a batch of %d keys was left unread", table.ErrThrottled, len(unread))
		}
		pending = unread
		if err := sleep(ctx, backoff(empty)); err != nil {
			return nil, time.Time{}, err
		}
	}
	return items, at, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Ready(ctx)
	case <-timer.C:
		return nil
	}
}
