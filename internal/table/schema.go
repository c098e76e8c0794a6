package table

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// checkTimeout is the timeout of CheckTable, so that a program with a wrong endpoint fails soon.
const checkTimeout = 4 * time.Second

// ErrNoTable is CheckTable's error for a table that does not exist.
var ErrNoTable = errors.New("table does not exist")

// SchemaError is the error for a table whose schema is not that of the ledger.
type SchemaError struct {
	Table       string
	Differences []string // each with the actual and the expected value
	OnlyStream  bool     // only the stream differs: a table restored from a backup has none yet
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("table %s is not as template.yaml has it: %s. "+
		"Take another name, or delete the table if nothing in it is needed", e.Table, strings.Join(e.Differences, "; "))
}

// CheckTable compares the keys, indexes and stream of a table with that of template.yaml. Errors: *SchemaError if
// they differ; ErrNoTable; the table is being created or deleted, or cannot be used. All errors except *SchemaError
// contain the endpoint. CheckTable is for local programs: in AWS the template creates the table, and no role has the
// permission to describe it.
func CheckTable(ctx context.Context, client *dynamodb.Client, name string) (*types.TableDescription, error) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out, err := client.DescribeTable(limited, &dynamodb.DescribeTableInput{TableName: &name})
	if _, absent := errors.AsType[*types.ResourceNotFoundException](err); absent {
		return nil, fmt.Errorf("%w: %s in DynamoDB at %s", ErrNoTable, name, Endpoint(client))
	}
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("DynamoDB at %s did not answer within %v: %w", Endpoint(client), checkTimeout, err)
	case err != nil:
		return nil, fmt.Errorf("DynamoDB at %s: %w", Endpoint(client), err)
	case out.Table == nil: // another service answers
		return nil, fmt.Errorf("DynamoDB at %s did not describe table %s", Endpoint(client), name)
	}
	switch status := out.Table.TableStatus; status {
	case "", types.TableStatusActive, types.TableStatusUpdating:
	default: // DynamoDB may answer for a while after a table is being deleted
		return nil, fmt.Errorf("DynamoDB at %s: table %s is %s", Endpoint(client), name, status)
	}
	if err := CompareTable(out.Table); err != nil {
		return nil, err
	}
	return out.Table, nil
}

// Endpoint returns a client's endpoint for messages: its base endpoint if it has one, else the region.
func Endpoint(client *dynamodb.Client) string {
	o := client.Options()
	if endpoint := aws.ToString(o.BaseEndpoint); endpoint != "" {
		return endpoint
	}
	return "AWS in " + o.Region
}

// CompareTable returns a *SchemaError with all differences between a table and the ledger's, nil if there are none.
func CompareTable(have *types.TableDescription) error {
	is, wanted := summarize(have), wantedSummary()
	var differences []string
	names := maps.Clone(is)
	maps.Copy(names, wanted)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if is[name] != wanted[name] {
			differences = append(differences, fmt.Sprintf("%s: it has %s, wanted is %s", name,
				cmp.Or(is[name], "none"), cmp.Or(wanted[name], "none")))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return &SchemaError{
		Table: aws.ToString(have.TableName), Differences: differences,
		OnlyStream: len(differences) == 1 && is[streamPart] != wanted[streamPart],
	}
}

const (
	keyPart    = "key"
	indexPart  = "index " // and its name
	streamPart = "stream"
)

// wantedSummary describes the ledger's table as summarize does.
func wantedSummary() map[string]string {
	key := func(partition, sort string) string {
		return fmt.Sprintf("%s (S, HASH), %s (S, RANGE)", partition, sort)
	}
	parts := map[string]string{keyPart: key(AttrPK, AttrSK), streamPart: StreamView}
	for _, x := range Indexes() {
		projection := types.ProjectionTypeAll
		if x.Include != nil {
			projection = types.ProjectionTypeInclude
		}
		parts[indexPart+x.Name] = key(x.PartitionKey, x.SortKey) + projectionText(projection, x.Include)
	}
	return parts
}

// summarize describes a table's key, indexes and stream, such as "key": "PK (S, HASH), SK (S, RANGE)".
func summarize(d *types.TableDescription) map[string]string {
	key := func(schema []types.KeySchemaElement) string {
		var parts []string
		for _, k := range schema {
			kind := types.ScalarAttributeType("?")
			for _, a := range d.AttributeDefinitions {
				if aws.ToString(a.AttributeName) == aws.ToString(k.AttributeName) {
					kind = a.AttributeType
				}
			}
			parts = append(parts, fmt.Sprintf("%s (%s, %s)", aws.ToString(k.AttributeName), kind, k.KeyType))
		}
		return strings.Join(parts, ", ")
	}
	parts := map[string]string{keyPart: key(d.KeySchema)}
	for _, x := range d.GlobalSecondaryIndexes {
		projection := types.Projection{}
		if x.Projection != nil {
			projection = *x.Projection
		}
		parts[indexPart+aws.ToString(x.IndexName)] = key(x.KeySchema) + projectionText(projection.ProjectionType,
			projection.NonKeyAttributes)
	}
	if s := d.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		parts[streamPart] = string(s.StreamViewType)
	}
	return parts
}

func projectionText(kind types.ProjectionType, attributes []string) string {
	return strings.TrimRight(fmt.Sprintf(", projecting %s %s", kind,
		strings.Join(slices.Sorted(slices.Values(attributes)), ", ")), " ")
}
