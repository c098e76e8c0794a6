package memory

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// Sizes of keys in bytes (AWS, "Quotas in Amazon DynamoDB").
const (
	partitionKeyBytes = 2048
	sortKeyBytes      = 1024
)

// Region is part of the ARNs that the store makes up.
const Region = "us-east-1"

const account = "000000000000"

// A books is one table: its items, its indexes, its stream.
type books struct {
	name                  string
	partitionKey, sortKey string
	keys                  map[string]bool // both of them
	base                  *collection
	indexes               []*index
	stream                *stream // nil: none
	busy                  map[table.Key]bool
	description           types.TableDescription
	items, bytes          int64
}

// An index is one of a table's global secondary indexes.
type index struct {
	*collection
	name                  string
	partitionKey, sortKey string
	projected             map[string]bool // nil: all attributes
}

// entry returns an item's place in the index; ok is false when it isn't in it.
func (x *index) entry(r *row, i item) (partition string, e entry, ok bool) {
	partition, hasPartition := i.text(x.partitionKey)
	sort, hasSort := i.text(x.sortKey)
	return partition, entry{sort, r}, hasPartition && hasSort
}

// CreateTable makes a table whose keys are all strings, with or without a stream of new images.
func (s *Store) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	if err := refuse(
		option{"LocalSecondaryIndexes", in.LocalSecondaryIndexes != nil},
		option{"ResourcePolicy", in.ResourcePolicy != nil},
		option{"BillingMode PROVISIONED", in.BillingMode != types.BillingModePayPerRequest},
	); err != nil {
		return nil, err
	}
	defined := make(map[string]types.ScalarAttributeType)
	for _, a := range in.AttributeDefinitions {
		defined[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	b := &books{name: aws.ToString(in.TableName), base: &collection{}, busy: make(map[table.Key]bool)}
	var err error
	if b.partitionKey, b.sortKey, err = keysOf(in.KeySchema, defined); err != nil {
		return nil, err
	}
	b.keys = map[string]bool{b.partitionKey: true, b.sortKey: true}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[b.name] != nil {
		return nil, &types.ResourceInUseException{Message: aws.String("Table already exists: " + b.name)}
	}
	now := s.now()
	arn := "arn:aws:dynamodb:" + Region + ":" + account + ":table/" + b.name
	b.description = types.TableDescription{
		TableName:            in.TableName,
		TableArn:             &arn,
		TableStatus:          types.TableStatusActive,
		CreationDateTime:     &now,
		KeySchema:            in.KeySchema,
		AttributeDefinitions: in.AttributeDefinitions,
		BillingModeSummary:   &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
	}
	for _, g := range in.GlobalSecondaryIndexes {
		x, err := newIndex(b, g, defined)
		if err != nil {
			return nil, err
		}
		b.indexes = append(b.indexes, x)
		indexARN := arn + "/index/" + x.name
		b.description.GlobalSecondaryIndexes = append(b.description.GlobalSecondaryIndexes, types.GlobalSecondaryIndexDescription{
			IndexName: g.IndexName, IndexArn: &indexARN, IndexStatus: types.IndexStatusActive,
			KeySchema: g.KeySchema, Projection: g.Projection,
		})
	}
	if spec := in.StreamSpecification; spec != nil && aws.ToBool(spec.StreamEnabled) {
		if spec.StreamViewType != types.StreamViewTypeNewImage {
			return nil, unsupported("StreamViewType " + string(spec.StreamViewType))
		}
		label := now.UTC().Format("2006-01-02T15:04:05.000")
		b.stream = newStream(arn+"/stream/"+label, label, now, s.shards)
		b.description.StreamSpecification = spec
		b.description.LatestStreamArn, b.description.LatestStreamLabel = &b.stream.arn, &b.stream.label
	}
	s.tables[b.name] = b
	s.ordered = append(s.ordered, b)
	return &dynamodb.CreateTableOutput{TableDescription: s.describe(b)}, nil
}

// keysOf reads a key schema, which must be of two strings.
func keysOf(schema []types.KeySchemaElement, defined map[string]types.ScalarAttributeType) (partition, sort string, err error) {
	for _, k := range schema {
		name := aws.ToString(k.AttributeName)
		switch {
		case defined[name] == "":
			return "", "", validation("One or more parameter values were invalid: Some index key attributes are not defined in AttributeDefinitions. Keys: [%s]", name)
		case defined[name] != types.ScalarAttributeTypeS:
			return "", "", unsupported("a key of type " + string(defined[name]))
		case k.KeyType == types.KeyTypeHash:
			partition = name
		case k.KeyType == types.KeyTypeRange:
			sort = name
		}
	}
	if len(schema) != 2 || partition == "" || sort == "" {
		return "", "", unsupported("a key schema other than of one HASH and one RANGE key")
	}
	return partition, sort, nil
}

func newIndex(b *books, g types.GlobalSecondaryIndex, defined map[string]types.ScalarAttributeType) (*index, error) {
	x := &index{collection: &collection{}, name: aws.ToString(g.IndexName)}
	var err error
	if x.partitionKey, x.sortKey, err = keysOf(g.KeySchema, defined); err != nil {
		return nil, err
	}
	if g.Projection == nil {
		return nil, validation("One or more parameter values were invalid: Unknown ProjectionType: null")
	}
	switch g.Projection.ProjectionType {
	case types.ProjectionTypeAll:
		return x, nil
	case types.ProjectionTypeKeysOnly, types.ProjectionTypeInclude:
		x.projected = make(map[string]bool)
		for _, name := range append([]string{b.partitionKey, b.sortKey, x.partitionKey, x.sortKey}, g.Projection.NonKeyAttributes...) {
			x.projected[name] = true
		}
		return x, nil
	}
	return nil, validation("One or more parameter values were invalid: Unknown ProjectionType: %s", g.Projection.ProjectionType)
}

// DescribeTable describes a table.
func (s *Store) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.tables[aws.ToString(in.TableName)]
	if b == nil {
		return nil, notFound(in.TableName)
	}
	return &dynamodb.DescribeTableOutput{Table: s.describe(b)}, nil
}

func (s *Store) describe(b *books) *types.TableDescription {
	d := b.description
	d.ItemCount, d.TableSizeBytes = aws.Int64(b.items), aws.Int64(b.bytes)
	created := *d.CreationDateTime
	d.CreationDateTime = &created
	return &d
}

func notFound(name *string) error {
	return &types.ResourceNotFoundException{Message: aws.String("Cannot do operations on a non-existent table: " + aws.ToString(name))}
}

// table returns a table by name. The lock is held.
func (s *Store) table(name *string) (*books, error) {
	if b := s.tables[aws.ToString(name)]; b != nil {
		return b, nil
	}
	return nil, notFound(name)
}

// apply makes an item become what it is after a write, and records that. The lock is held.
func (s *Store) apply(b *books, k table.Key, after item) {
	r := b.base.row(k)
	before := r.current()
	if after.equal(before) {
		return
	}
	at := s.now()
	if r != nil {
		k = r.key
	} else { // with the strings of what is kept, not of the request
		k.PK, _ = after.text(b.partitionKey)
		k.SK, _ = after.text(b.sortKey)
		r = &row{key: k}
		b.base.insert(k.PK, entry{k.SK, r})
	}
	last := r.as(time.Time{})
	next := version{after, after.bytes(), at}
	var dropped []version
	if s.lag == nil {
		dropped, r.versions = r.versions, []version{next}
	} else {
		r.versions = append(r.versions, next)
		dropped = r.forget(at.Add(-lagMost))
	}
	for _, x := range b.indexes {
		x.follow(r, after, dropped)
	}
	if after == nil && len(r.versions) == 1 {
		b.base.remove(k.PK, entry{k.SK, r})
	}
	switch {
	case before == nil:
		b.items++
	case after == nil:
		b.items--
	}
	b.bytes += int64(next.bytes - last.bytes)
	s.changed(b, k, before, after, at)
}

// follow puts a row into the index where its newest version belongs, and takes it out where only dropped ones did.
func (x *index) follow(r *row, after item, dropped []version) {
	if partition, e, ok := x.entry(r, after); ok {
		x.insert(partition, e)
	}
	for _, v := range dropped {
		partition, e, ok := x.entry(r, v.item)
		if ok && !x.holds(r, partition, e) {
			x.remove(partition, e)
		}
	}
}

// holds tells whether some version of the row that is kept belongs to that place.
func (x *index) holds(r *row, partition string, e entry) bool {
	for _, v := range r.versions {
		if p, f, ok := x.entry(r, v.item); ok && p == partition && f.sort == e.sort {
			return true
		}
	}
	return false
}

// lagged returns the instant that an eventually consistent read sees; the zero time is now. The lock is held.
func (s *Store) lagged(lag time.Duration) time.Time {
	if lag <= 0 {
		return time.Time{}
	}
	return s.now().Add(-min(lag, lagMost))
}
