package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// activeTimeout bounds the wait for a new table. DynamoDB Local needs milliseconds, AWS seconds.
const activeTimeout = 2 * time.Minute

// CreateTable creates the ledger's table and returns when it is active. If a table of that name exists, it must be a
// ledger's table; otherwise the error is a *table.SchemaError.
func CreateTable(ctx context.Context, client *dynamodb.Client, name string) (*types.TableDescription, error) {
	in, err := Table()
	if err != nil {
		return nil, err
	}
	in.TableName = &name
	_, err = client.CreateTable(ctx, in)
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 50*time.Millisecond, 2*time.Second
	})
	out, err := waiter.WaitForOutput(ctx, &dynamodb.DescribeTableInput{TableName: &name}, activeTimeout)
	if err != nil {
		return nil, fmt.Errorf("wait for table %s: %w", name, err)
	}
	return out.Table, table.CompareTable(out.Table)
}
