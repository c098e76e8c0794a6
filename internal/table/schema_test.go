package table_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// described is the ledger's table as DynamoDB describes it: projected attributes in another order.
func described() *types.TableDescription {
	key := func(partition, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &partition, KeyType: "HASH"},
			{AttributeName: &sort, KeyType: "RANGE"}}
	}
	d := &types.TableDescription{
		TableName: aws.String("books"), KeySchema: key(table.AttrPK, table.AttrSK),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_IMAGE"},
	}
	for _, name := range []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2} {
		d.AttributeDefinitions = append(d.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
	}
	for _, x := range table.Indexes() {
		projection := &types.Projection{ProjectionType: "ALL"}
		if x.Include != nil {
			projection = &types.Projection{ProjectionType: "INCLUDE",
				NonKeyAttributes: append(x.Include[1:len(x.Include):len(x.Include)], x.Include[0])}
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
			IndexName: &x.Name, KeySchema: key(x.PartitionKey, x.SortKey), Projection: projection,
		})
	}
	return d
}

// The error lists all differences.
func TestCompareTable(t *testing.T) {
	if err := table.CompareTable(described()); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		change func(*types.TableDescription)
		says   []string
	}{
		"key": {func(d *types.TableDescription) { d.KeySchema = d.KeySchema[:1] },
			[]string{"key: it has PK (S, HASH), wanted is PK (S, HASH), SK (S, RANGE)"}},
		"type of a key": {func(d *types.TableDescription) { d.AttributeDefinitions[1].AttributeType = "N" },
			[]string{"key: it has PK (S, HASH), SK (N, RANGE)"}},
		"no index": {func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes = d.GlobalSecondaryIndexes[1:]
		}, []string{"index GSI1: it has none, wanted is PK (S, HASH)"}},
		"key of an index": {func(d *types.TableDescription) { d.GlobalSecondaryIndexes[1].KeySchema = d.KeySchema },
			[]string{"index GSI2: it has PK (S, HASH), SK"}},
		"another index": {func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes,
				types.GlobalSecondaryIndexDescription{IndexName: aws.String("Old")})
		}, []string{"index Old: it has"}},
		"projected attributes": {func(d *types.TableDescription) {
			p := d.GlobalSecondaryIndexes[1].Projection
			p.NonKeyAttributes = p.NonKeyAttributes[1:]
		}, []string{"projecting INCLUDE "}},
		"projection": {func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: "KEYS_ONLY"}
		}, []string{"projecting KEYS_ONLY, wanted is PK (S, HASH), SK2 (S, RANGE), projecting ALL"}},
		"no stream": {func(d *types.TableDescription) { d.StreamSpecification = nil },
			[]string{"stream: it has none, wanted is NEW_IMAGE"}},
		"stream disabled": {func(d *types.TableDescription) { d.StreamSpecification.StreamEnabled = nil },
			[]string{"stream: it has none"}},
		"other stream": {func(d *types.TableDescription) { d.StreamSpecification.StreamViewType = "KEYS_ONLY" },
			[]string{"stream: it has KEYS_ONLY"}},
		"everything": {func(d *types.TableDescription) { *d = types.TableDescription{TableName: d.TableName} },
			[]string{"key: ", "index GSI1: ", "index GSI2: ", "stream: "}},
	} {
		d := described()
		c.change(d)
		var e *table.SchemaError
		if err := table.CompareTable(d); !errors.As(err, &e) || len(e.Differences) != len(c.says) ||
			e.OnlyStream != strings.Contains(name, "stream") {
			t.Errorf("%s: %+v", name, e)
			continue
		}
		for _, says := range append(c.says, "table books ") {
			if !strings.Contains(e.Error(), says) {
				t.Errorf("%s: %q does not say %q", name, e, says)
			}
		}
	}
}

// Another service at the endpoint may answer any request with JSON.
func TestAnswerWithoutATable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	client := table.NewClient(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	if _, err := table.CheckTable(t.Context(), client, "books"); err == nil || !strings.Contains(err.Error(), server.URL) {
		t.Error(err)
	}
}
