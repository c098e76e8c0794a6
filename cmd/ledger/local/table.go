package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/wire"
)

// activeTimeout bounds the wait for a new table; DynamoDB Local needs
// milliseconds, an account seconds.
const activeTimeout = 2 * time.Minute

// CreateTable makes the table that in describes under the given name, and
// returns when it can be used. An existing table is fine if it is the ledger's;
// else the error is a *wire.SchemaError. The input is not changed.
func CreateTable(ctx context.Context, client *dynamodb.Client, in *dynamodb.CreateTableInput, name string) (*types.TableDescription, error) {
	create := *in
	create.TableName = &name
	_, err := client.CreateTable(ctx, &create)
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
	return out.Table, wire.CompareTable(out.Table)
}
