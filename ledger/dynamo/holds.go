package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// duePage is the page size of DueHolds.
const duePage = 100

// DueHolds implements ledger.Journal. It skips malformed entries: the audit reports them.
func (j *Journal) DueHolds(
	ctx context.Context, shard int, until time.Time, after ledger.DueHold,
) (holds []ledger.DueHold, more bool, err error) {
	last := ""
	if after.ID != "" {
		last = events.FormatTime(after.ExpiresAt) + "#" + after.ID
	}
	due := table.OpenHold.Partitions().After(last).Through(events.FormatTime(until))
	if due.Empty() {
		return nil, false, nil
	}
	q := ddb.WithinInverse(table.OpenHoldsPK2(shard), due, &dynamodb.QueryInput{
		TableName: &j.table, Limit: aws.Int32(duePage),
	})
	for {
		out, err := ddb.Page(ctx, j.client, q)
		if err != nil {
			return nil, false, fmt.Errorf("list due holds: %w", err)
		}
		for _, item := range out.Items {
			if hold, ok := dueHold(item); ok {
				holds = append(holds, hold)
			}
		}
		if more = out.LastEvaluatedKey != nil; !more || len(holds) > 0 {
			return holds, more, nil
		}
		q.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// dueHold parses the key of an entry.
func dueHold(item ddb.Item) (ledger.DueHold, bool) {
	key, err := ddb.KeyOf(item)
	if err != nil {
		return ledger.DueHold{}, false
	}
	text, id, ok := table.OpenHold.Parse(key)
	expires, err := events.ParseTime(text)
	return ledger.DueHold{ID: id, ExpiresAt: expires}, ok && err == nil
}
