package wire

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// NewestGrant reads the newest grant or revocation of user on account, strongly consistent: the command numbers the next
// one after it, and the projector shows it. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
func NewestGrant(ctx context.Context, client *dynamodb.Client, tableName, account, user string) (events.Event, error) {
	newest, err := First(ctx, client, Within(table.AccountKey(account).PK, table.GrantsOf(user), &dynamodb.QueryInput{
		TableName:        &tableName,
		ConsistentRead:   aws.Bool(true),
		ScanIndexForward: aws.Bool(false),
	}))
	switch {
	case err != nil:
		return nil, err
	case newest == nil:
		return nil, table.ErrAbsent
	}
	return DecodeEvent(newest)
}
