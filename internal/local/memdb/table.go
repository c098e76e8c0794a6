package memdb

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Region is the region in the ARNs of the store.
const Region = "us-east-1"

const account = "000000000000"

// A tableState is one table: its items and its indexes.
type tableState struct {
	name        string
	indexes     []*index           // the first is the table itself
	busy        map[table.Key]bool // items whose write by a committed transaction is not visible yet
	description types.TableDescription
	items       int64
	probe       row // for lookups by row, to avoid an allocation
}

// keys returns the index that is the table itself, with the names of its keys.
func (t *tableState) keys() *index { return t.indexes[0] }

// row returns the row with a key, or nil if there is none. The lock is held.
func (t *tableState) row(k table.Key) *row {
	t.probe.key = k
	e, _ := t.keys().entries.Get(newEntry(k.PK, k.SK, &t.probe))
	return e.row
}

// createTable answers CreateTable. Keys must have two strings, and the table a stream of new images.
func (s *Store) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	var r struct {
		TableName              *string
		KeySchema              []types.KeySchemaElement
		AttributeDefinitions   []types.AttributeDefinition
		BillingMode            types.BillingMode
		GlobalSecondaryIndexes []types.GlobalSecondaryIndex
		StreamSpecification    *types.StreamSpecification
	}
	if err := decode(in, &r); err != nil {
		return nil, err
	}
	if v := r.StreamSpecification; v == nil || v.StreamViewType != types.StreamViewTypeNewImage {
		return nil, unsupported("a table without a stream of new images")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name, now := aws.ToString(in.TableName), s.now()
	if s.tables[name] != nil {
		return nil, &types.ResourceInUseException{Message: aws.String("Table already exists: " + name)}
	}
	arn := "arn:aws:dynamodb:" + Region + ":" + account + ":table/" + name
	label := now.UTC().Format("2006-01-02T15:04:05.000")
	t := &tableState{name: name, busy: make(map[table.Key]bool), description: types.TableDescription{
		TableName: in.TableName, TableArn: &arn, TableStatus: types.TableStatusActive, CreationDateTime: &now,
		KeySchema: in.KeySchema, AttributeDefinitions: in.AttributeDefinitions,
		BillingModeSummary:  &types.BillingModeSummary{BillingMode: in.BillingMode},
		StreamSpecification: in.StreamSpecification, LatestStreamLabel: &label,
		LatestStreamArn: aws.String(arn + "/stream/" + label),
	}}
	if err := t.addIndex("", in.KeySchema, in.AttributeDefinitions, nil); err != nil {
		return nil, err
	}
	for _, g := range in.GlobalSecondaryIndexes {
		if err := t.addIndex(*g.IndexName, g.KeySchema, in.AttributeDefinitions, g.Projection); err != nil {
			return nil, err
		}
		t.description.GlobalSecondaryIndexes = append(t.description.GlobalSecondaryIndexes,
			types.GlobalSecondaryIndexDescription{
				IndexName: g.IndexName, IndexArn: aws.String(arn + "/index/" + *g.IndexName), KeySchema: g.KeySchema,
				Projection: g.Projection, IndexStatus: types.IndexStatusActive,
			})
	}
	s.tables[name] = t
	s.ordered = append(s.ordered, t)
	return &dynamodb.CreateTableOutput{TableDescription: t.describe()}, nil
}

// addIndex adds a global secondary index. The first call, with an empty name, adds the table itself. A key must have
// two strings.
func (t *tableState) addIndex(
	name string, schema []types.KeySchemaElement, defined []types.AttributeDefinition, projection *types.Projection,
) error {
	x := &index{name: name, entries: newTree(), keys: make(map[string]bool)}
	for _, k := range schema {
		if k.KeyType == types.KeyTypeHash {
			x.partitionKey = *k.AttributeName
		} else {
			x.sortKey = *k.AttributeName
		}
		x.keys[*k.AttributeName] = true
	}
	for _, d := range defined {
		if x.keys[*d.AttributeName] && d.AttributeType != types.ScalarAttributeTypeS {
			return unsupported("the key " + *d.AttributeName + ", which is not a string")
		}
	}
	if x.partitionKey == "" || x.sortKey == "" {
		return unsupported("a key schema other than one HASH and one RANGE key")
	}
	if name != "" {
		maps.Copy(x.keys, t.keys().keys)
	}
	if projection != nil && projection.ProjectionType != types.ProjectionTypeAll {
		x.projected = maps.Clone(x.keys)
		for _, attribute := range projection.NonKeyAttributes {
			x.projected[attribute] = true
		}
	}
	t.indexes = append(t.indexes, x)
	return nil
}

// describeTable answers DescribeTable. The number of items is exact; AWS updates it only every six hours.
func (s *Store) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(in.TableName)
	if err != nil {
		return nil, err
	}
	return &dynamodb.DescribeTableOutput{Table: t.describe()}, nil
}

func (t *tableState) describe() *types.TableDescription {
	d := t.description
	d.ItemCount = aws.Int64(t.items)
	d.CreationDateTime = aws.Time(*d.CreationDateTime)
	return &d
}

// table returns a table by its name. The lock is held.
func (s *Store) table(name *string) (*tableState, error) {
	if t := s.tables[aws.ToString(name)]; t != nil {
		return t, nil
	}
	return nil, &types.ResourceNotFoundException{
		Message: aws.String("Cannot do operations on a non-existent table: " + aws.ToString(name)),
	}
}

// index returns the index that a read names, or the table itself.
func (t *tableState) index(name *string, strong bool) (*index, error) {
	if name == nil {
		return t.keys(), nil
	}
	for _, x := range t.indexes[1:] {
		if x.name == *name && strong {
			return nil, validation("Consistent reads are not supported on global secondary indexes")
		} else if x.name == *name {
			return x, nil
		}
	}
	return nil, validation("The table does not have the specified index: %s", *name)
}

// apply writes an item and records the change. A write that changes nothing has no record, as in DynamoDB Streams. The
// lock is held.
func (s *Store) apply(t *tableState, k table.Key, after packed) {
	r := t.row(k)
	before := r.current()
	if after == before {
		return
	}
	if r == nil {
		r = &row{}
	}
	if after != "" { // share the strings of the newest version: k may retain the request, and older ones are dropped
		r.key = table.Key{PK: after.get(t.keys().partitionKey).text, SK: after.get(t.keys().sortKey).text}
	}
	now := s.now()
	horizon := now // without a lag, reads need no older versions
	if s.options.Lag != nil {
		horizon = now.Add(-maxLag)
	}
	r.versions = append(r.versions, version{after, now})
	dropped := r.trim(horizon)
	for _, x := range t.indexes {
		x.reindex(r, dropped)
	}
	switch {
	case before == "":
		t.items++
	case after == "":
		t.items--
	}
	s.recordChange(change{table: t, key: r.key, before: before, after: after, at: now})
}
