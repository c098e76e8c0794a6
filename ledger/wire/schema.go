package wire

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

	"ledger.example/ledger/table"
)

// checkTimeout bounds CheckTable: who starts a program with a wrong endpoint learns it within five seconds.
const checkTimeout = 4 * time.Second

// ErrNoTable is returned by CheckTable for a table that is not there.
var ErrNoTable = errors.New("there is no such table")

// SchemaError says that a table is there and is not the ledger's.
type SchemaError struct {
	Table       string
	Differences []string // what the table has and what is wanted, all of it
	OnlyStream  bool     // nothing else differs: a table that was restored from a backup has no stream yet
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("table %s is not as template.yaml has it: %s. Take another name, or delete the table if nothing in it is needed",
		e.Table, strings.Join(e.Differences, "; "))
}

// CheckTable describes a table and compares its keys, indexes and stream with what package table says. A table that
// differs is a *SchemaError; one that isn't there, ErrNoTable. All errors but the first name the endpoint. It is for
// programs on one machine: in AWS the template made the table, and no role may describe it.
func CheckTable(ctx context.Context, client *dynamodb.Client, name string) (*types.TableDescription, error) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out, err := client.DescribeTable(limited, &dynamodb.DescribeTableInput{TableName: &name})
	var absent *types.ResourceNotFoundException
	switch {
	case errors.As(err, &absent):
		return nil, fmt.Errorf("%w: %s in DynamoDB at %s", ErrNoTable, name, Endpoint(client))
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("DynamoDB at %s did not answer within %v: %w", Endpoint(client), checkTimeout, err)
	case err != nil:
		return nil, fmt.Errorf("DynamoDB at %s: %w", Endpoint(client), err)
	}
	if err := CompareTable(out.Table); err != nil {
		return nil, err
	}
	return out.Table, nil
}

// CompareTable returns nil, or a *SchemaError that says how a table differs from the ledger's.
func CompareTable(have *types.TableDescription) error {
	if ds := differences(have); len(ds) > 0 {
		return &SchemaError{
			Table: aws.ToString(have.TableName), Differences: ds,
			OnlyStream: len(ds) == 1 && streamText(have.StreamSpecification) != table.StreamView,
		}
	}
	return nil
}

// Endpoint tells people where a client sends its requests: an endpoint that was given, else the region.
func Endpoint(client *dynamodb.Client) string {
	o := client.Options()
	if endpoint := aws.ToString(o.BaseEndpoint); endpoint != "" {
		return endpoint
	}
	return "AWS in " + o.Region
}

// differences lists how a table differs from the ledger's.
func differences(have *types.TableDescription) []string {
	var ds []string
	differ := func(what, have, want string) {
		if have != want {
			ds = append(ds, fmt.Sprintf("%s: it has %s, wanted is %s", what, have, want))
		}
	}
	differ("key", keyText(have.KeySchema, have.AttributeDefinitions), wantedKey(table.AttrPK, table.AttrSK))
	wanted := make(map[string]bool)
	for _, want := range table.Indexes() {
		wanted[want.Name] = true
		i := slices.IndexFunc(have.GlobalSecondaryIndexes, func(h types.GlobalSecondaryIndexDescription) bool {
			return aws.ToString(h.IndexName) == want.Name
		})
		if i < 0 {
			ds = append(ds, fmt.Sprintf("index %s is missing", want.Name))
			continue
		}
		h := have.GlobalSecondaryIndexes[i]
		differ("key of index "+want.Name, keyText(h.KeySchema, have.AttributeDefinitions), wantedKey(want.PartitionKey, want.SortKey))
		projection := types.Projection{ProjectionType: types.ProjectionTypeAll}
		if want.Include != nil {
			projection = types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: want.Include}
		}
		differ("projection of index "+want.Name, projectionText(h.Projection), projectionText(&projection))
	}
	for _, h := range have.GlobalSecondaryIndexes {
		if name := aws.ToString(h.IndexName); !wanted[name] {
			ds = append(ds, fmt.Sprintf("index %s is one too many", name))
		}
	}
	differ("stream", streamText(have.StreamSpecification), table.StreamView)
	return ds
}

// keyText is a key as text, such as "PK (S, HASH), SK (S, RANGE)".
func keyText(schema []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	parts := make([]string, len(schema))
	for i, k := range schema {
		typ := types.ScalarAttributeType("?")
		for _, a := range attributes {
			if aws.ToString(a.AttributeName) == aws.ToString(k.AttributeName) {
				typ = a.AttributeType
			}
		}
		parts[i] = fmt.Sprintf("%s (%s, %s)", aws.ToString(k.AttributeName), typ, k.KeyType)
	}
	return strings.Join(parts, ", ")
}

func wantedKey(partition, sort string) string {
	return fmt.Sprintf("%s (S, HASH), %s (S, RANGE)", partition, sort)
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
