package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// activeTimeout bounds the wait for a new table; DynamoDB Local needs
// milliseconds, an account seconds.
const activeTimeout = 2 * time.Minute

// SchemaError says that a table exists whose schema is not the template's.
type SchemaError struct {
	Table string
	// Differences has one line for each: what the table has, what is wanted.
	Differences []string
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("table %s exists and is not the template's: %s. "+
		"Take another name, or delete the table if nothing in it is needed",
		e.Table, strings.Join(e.Differences, "; "))
}

// CreateTable makes the table that in describes under the given name, and
// returns when it can be used. An existing table is fine if its keys, indexes
// and stream are the same; else the error is a *SchemaError that names the
// differences. The input is not changed.
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
	if differences := compare(out.Table, in); len(differences) > 0 {
		return nil, &SchemaError{Table: name, Differences: differences}
	}
	return out.Table, nil
}

// compare lists what differs between a table and what is wanted.
func compare(have *types.TableDescription, want *dynamodb.CreateTableInput) []string {
	var ds []string
	differ := func(what, have, want string) {
		if have != want {
			ds = append(ds, fmt.Sprintf("%s: it has %s, wanted is %s", what, have, want))
		}
	}
	differ("key", keyText(have.KeySchema, have.AttributeDefinitions), keyText(want.KeySchema, want.AttributeDefinitions))

	wanted := make(map[string]bool)
	for _, w := range want.GlobalSecondaryIndexes {
		name := aws.ToString(w.IndexName)
		wanted[name] = true
		i := slices.IndexFunc(have.GlobalSecondaryIndexes, func(h types.GlobalSecondaryIndexDescription) bool {
			return aws.ToString(h.IndexName) == name
		})
		if i < 0 {
			ds = append(ds, fmt.Sprintf("index %s is missing", name))
			continue
		}
		h := have.GlobalSecondaryIndexes[i]
		differ("key of index "+name, keyText(h.KeySchema, have.AttributeDefinitions), keyText(w.KeySchema, want.AttributeDefinitions))
		differ("projection of index "+name, projectionText(h.Projection), projectionText(w.Projection))
	}
	for _, h := range have.GlobalSecondaryIndexes {
		if name := aws.ToString(h.IndexName); !wanted[name] {
			ds = append(ds, fmt.Sprintf("index %s is one too many", name))
		}
	}
	differ("stream", streamText(have.StreamSpecification), streamText(want.StreamSpecification))
	return ds
}

// keyText is a key schema as text, such as "PK (S, HASH), SK (S, RANGE)".
func keyText(ks []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	var parts []string
	for _, k := range ks {
		typ := types.ScalarAttributeType("?")
		for _, a := range attributes {
			if aws.ToString(a.AttributeName) == aws.ToString(k.AttributeName) {
				typ = a.AttributeType
			}
		}
		parts = append(parts, fmt.Sprintf("%s (%s, %s)", aws.ToString(k.AttributeName), typ, k.KeyType))
	}
	return strings.Join(parts, ", ")
}

func projectionText(p *types.Projection) string {
	if p == nil {
		return "none"
	}
	names := slices.Sorted(slices.Values(p.NonKeyAttributes))
	return strings.TrimSpace(string(p.ProjectionType) + " " + strings.Join(names, ", "))
}

func streamText(s *types.StreamSpecification) string {
	if s == nil || !aws.ToBool(s.StreamEnabled) {
		return "none"
	}
	return string(s.StreamViewType)
}

// StreamARN returns the name of a table's stream. The error says so when there
// is no table, or no stream.
func StreamARN(ctx context.Context, client *dynamodb.Client, table string) (string, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	var notFound *types.ResourceNotFoundException
	switch {
	case errors.As(err, &notFound):
		return "", fmt.Errorf("there is no table %s", table)
	case err != nil:
		return "", fmt.Errorf("describe table %s: %w", table, err)
	case streamText(out.Table.StreamSpecification) == "none" || out.Table.LatestStreamArn == nil:
		return "", fmt.Errorf("table %s has no stream", table)
	}
	return *out.Table.LatestStreamArn, nil
}
