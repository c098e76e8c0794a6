package wire

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// described is the ledger's table as the store describes it: projected attributes in another order.
func described() *types.TableDescription {
	key := func(partition, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &partition, KeyType: "HASH"}, {AttributeName: &sort, KeyType: "RANGE"}}
	}
	d := &types.TableDescription{
		KeySchema:           key(table.AttrPK, table.AttrSK),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: "NEW_IMAGE"},
	}
	for _, name := range []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2} {
		d.AttributeDefinitions = append(d.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: "S"})
	}
	for _, index := range table.Indexes() {
		projection := &types.Projection{ProjectionType: "ALL"}
		if index.Include != nil {
			projection = &types.Projection{ProjectionType: "INCLUDE", NonKeyAttributes: append(index.Include[1:len(index.Include):len(index.Include)], index.Include[0])}
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
			IndexName: &index.Name, KeySchema: key(index.PartitionKey, index.SortKey), Projection: projection,
		})
	}
	return d
}

// Whatever a table lacks is named, and all of it at once.
func TestDifferences(t *testing.T) {
	if ds := differences(described()); len(ds) > 0 {
		t.Errorf("the same, and it differs: %v", ds)
	}
	for name, c := range map[string]struct {
		change func(*types.TableDescription)
		says   []string
	}{
		"key":           {func(d *types.TableDescription) { d.KeySchema = d.KeySchema[:1] }, []string{"key: it has PK (S, HASH), wanted is PK (S, HASH), SK (S, RANGE)"}},
		"type of a key": {func(d *types.TableDescription) { d.AttributeDefinitions[1].AttributeType = "N" }, []string{"key: it has PK (S, HASH), SK (N, RANGE)"}},
		"an index":      {func(d *types.TableDescription) { d.GlobalSecondaryIndexes = d.GlobalSecondaryIndexes[1:] }, []string{"index GSI1 is missing"}},
		"another index": {func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{IndexName: aws.String("Old")})
		}, []string{"index Old is one too many"}},
		"key of an index": {func(d *types.TableDescription) { d.GlobalSecondaryIndexes[1].KeySchema = d.KeySchema }, []string{"key of index GSI2"}},
		"projection of an index": {func(d *types.TableDescription) {
			p := d.GlobalSecondaryIndexes[1].Projection
			p.NonKeyAttributes = p.NonKeyAttributes[1:]
		}, []string{"projection of index GSI2: it has INCLUDE "}},
		"keys only": {func(d *types.TableDescription) {
			d.GlobalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: "KEYS_ONLY"}
		},
			[]string{"projection of index GSI1: it has KEYS_ONLY, wanted is ALL"}},
		"no stream":       {func(d *types.TableDescription) { d.StreamSpecification = nil }, []string{"stream: it has none, wanted is NEW_IMAGE"}},
		"stream disabled": {func(d *types.TableDescription) { d.StreamSpecification.StreamEnabled = nil }, []string{"stream: it has none"}},
		"other stream":    {func(d *types.TableDescription) { d.StreamSpecification.StreamViewType = "KEYS_ONLY" }, []string{"stream: it has KEYS_ONLY"}},
		"all of it":       {func(d *types.TableDescription) { *d = types.TableDescription{} }, []string{"key: ", "index GSI1 is missing", "index GSI2 is missing", "stream: "}},
	} {
		d := described()
		c.change(d)
		text := (&SchemaError{Table: "books", Differences: differences(d)}).Error()
		for _, says := range append(c.says, "table books ") {
			if !strings.Contains(text, says) {
				t.Errorf("%s: %q does not say %q", name, text, says)
			}
		}
		var e *SchemaError
		if !errors.As(CompareTable(d), &e) || e.OnlyStream != strings.Contains(name, "stream") {
			t.Errorf("%s: %+v", name, e)
		}
		if got := len(differences(d)); got != len(c.says) {
			t.Errorf("%s: %d differences: %s", name, got, text)
		}
	}
}

// An endpoint where nothing answers, or nothing is, is named within five seconds.
func TestCheckTableNamesTheEndpoint(t *testing.T) {
	swallows, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { swallows.Close() })
	refuses, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuses.Close()
	for name, host := range map[string]string{
		"swallows": swallows.Addr().String(), "refuses": refuses.Addr().String(), "has no address": "ledger.invalid:8000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := "http://" + host
			client := NewClient(aws.Config{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
			start := time.Now()
			_, err := CheckTable(t.Context(), client, "books")
			if err == nil || !strings.Contains(err.Error(), endpoint) || errors.Is(err, ErrNoTable) {
				t.Errorf("says %v", err)
			}
			if took := time.Since(start); took > 8*time.Second { // five are promised; a loaded machine takes its time
				t.Errorf("took %v", took)
			}
			t.Log(err)
		})
	}
}
