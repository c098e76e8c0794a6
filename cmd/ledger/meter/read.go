package meter

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// count counts what one request consumed. Reads that failed consume nothing.
func (m *Meter) count(t *Tally, request, reply any, err error) {
	switch in := request.(type) {
	case *dynamodb.PutItemInput:
		m.wrote(t, []write{m.putOf(in.Item, in.ConditionExpression)}, false, err)
	case *dynamodb.UpdateItemInput:
		m.wrote(t, []write{updateOf(in.Key, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)}, false, err)
	case *dynamodb.TransactWriteItemsInput:
		writes, guessed := m.transaction(in.TransactItems)
		t.Guessed += guessed
		m.wrote(t, writes, true, err)
	}
	switch out := reply.(type) {
	case *dynamodb.GetItemOutput:
		in := request.(*dynamodb.GetItemInput)
		r := m.reading(in.ConsistentRead, in.ProjectionExpression)
		t.ReadHalves += r.get(t, keyOf(in.Key), out.Item)
	case *dynamodb.BatchGetItemOutput:
		m.batch(t, request.(*dynamodb.BatchGetItemInput).RequestItems[m.table], out)
	case *dynamodb.TransactGetItemsOutput:
		for i, get := range request.(*dynamodb.TransactGetItemsInput).TransactItems {
			if aws.ToString(get.Get.TableName) == m.table && i < len(out.Responses) {
				r := reading{m, table.Transactional, get.Get.ProjectionExpression != nil}
				t.ReadHalves += r.get(t, keyOf(get.Get.Key), out.Responses[i].Item)
			}
		}
	case *dynamodb.QueryOutput:
		in := request.(*dynamodb.QueryInput)
		r := m.reading(in.ConsistentRead, in.ProjectionExpression)
		t.ReadHalves += r.page(t, in.IndexName, partitionOf(in), out.Items)
	case *dynamodb.ScanOutput:
		in := request.(*dynamodb.ScanInput)
		r := m.reading(in.ConsistentRead, in.ProjectionExpression)
		t.ReadHalves += r.page(t, in.IndexName, "", out.Items)
	}
}

// reading is how a request reads.
type reading struct {
	*Meter
	consistency table.Consistency
	partial     bool // only some attributes are shown
}

func (m *Meter) reading(strong *bool, projection *string) reading {
	r := reading{m, table.Eventual, projection != nil}
	if aws.ToBool(strong) {
		r.consistency = table.Strong
	}
	return r
}

// batch counts a BatchGetItem: what was left unprocessed is not charged, what is absent is.
func (m *Meter) batch(t *Tally, asked types.KeysAndAttributes, out *dynamodb.BatchGetItemOutput) {
	r := m.reading(asked.ConsistentRead, asked.ProjectionExpression)
	items := out.Responses[m.table]
	for _, item := range items {
		t.ReadHalves += r.get(t, keyOf(item), item)
	}
	absent := len(asked.Keys) - len(items) - len(out.UnprocessedKeys[m.table].Keys)
	t.ReadHalves += int64(absent * table.ReadHalves(0, r.consistency))
}

// get returns what reading one item consumed; an empty one is absent.
func (r reading) get(t *Tally, k table.Key, item wire.Item) int64 {
	return int64(table.ReadHalves(r.bytes(t, k, item), r.consistency))
}

// bytes is the whole size of an item that was read from the table, 0 when it is absent. Only a strong read says what is
// there now.
func (r reading) bytes(t *Tally, k table.Key, item wire.Item) int {
	switch {
	case len(item) == 0:
		if r.consistency != table.Eventual {
			r.seen.set(k, image{})
		}
		return 0
	case !r.partial:
		t.ItemsRead++
		i := r.imageOf(item)
		if r.consistency != table.Eventual {
			r.seen.set(k, i)
		}
		return i.bytes
	}
	t.ItemsRead++
	i, _ := r.seen.of(k)
	return r.atLeast(t, i.bytes, item)
}

// page returns what one page of a query or a scan consumed. A partition that is not empty is that of all its items.
func (r reading) page(t *Tally, indexName *string, partition string, items []wire.Item) int64 {
	total := 0
	for _, item := range items {
		k := keyOf(item)
		if k.PK == "" {
			k.PK = partition
		}
		if indexName == nil {
			total += r.bytes(t, k, item)
			continue
		}
		t.ItemsRead++
		if !r.partial {
			total += itemBytes(item)
			continue
		}
		at := slices.IndexFunc(r.indexes[:], func(x index) bool { return x.name == *indexName })
		i, _ := r.seen.of(k)
		total += r.atLeast(t, i.entries[at].bytes, item)
	}
	return int64(table.ReadHalves(total, r.consistency))
}

// atLeast returns the size of an item that is shown in part and was of known bytes when it was seen, 0 if it never was.
func (r reading) atLeast(t *Tally, known int, shown wire.Item) int {
	if known == 0 {
		t.Guessed++
		return itemBytes(shown)
	}
	return known
}

// partitionOf returns the partition of the table that a query reads, "" when it reads an index's or says it in another way
// than package wire.
func partitionOf(in *dynamodb.QueryInput) string {
	rest, ok := strings.CutPrefix(aws.ToString(in.KeyConditionExpression), table.AttrPK+" = ")
	if !ok {
		return ""
	}
	placeholder, _, _ := strings.Cut(rest, " ")
	return text(in.ExpressionAttributeValues[placeholder])
}
