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
	out, err := client.Query(ctx, Within(table.AccountKey(account).PK, table.GrantsOf(user), &dynamodb.QueryInput{
		TableName:        &tableName,
		ConsistentRead:   aws.Bool(true),
		ScanIndexForward: aws.Bool(false),
		Limit:            aws.Int32(1),
	}))
	if err != nil {
		return nil, ReadError(err)
	}
	if len(out.Items) == 0 {
		return nil, table.ErrAbsent
	}
	return DecodeEvent(out.Items[0])
}
