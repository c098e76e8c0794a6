package meter

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// countReads counts the units that a request's reads consumed. Failed reads consume nothing.
func (m *Meter) countReads(t *Tally, request, reply any) {
	switch out := reply.(type) {
	case *dynamodb.GetItemOutput:
		in := request.(*dynamodb.GetItemInput)
		r := m.reading(in.ConsistentRead, in.ProjectionExpression)
		t.ReadHalves += r.get(t, store.ItemKey(in.Key), out.Item)
	case *dynamodb.BatchGetItemOutput:
		m.batch(t, request.(*dynamodb.BatchGetItemInput).RequestItems[m.table], out)
	case *dynamodb.TransactGetItemsOutput:
		for i, get := range request.(*dynamodb.TransactGetItemsInput).TransactItems {
			if aws.ToString(get.Get.TableName) == m.table && i < len(out.Responses) {
				r := reading{m, store.TransactionalRead, get.Get.ProjectionExpression != nil}
				t.ReadHalves += r.get(t, store.ItemKey(get.Get.Key), out.Responses[i].Item)
			}
		}
	case *dynamodb.QueryOutput:
		t.ItemsRead += int64(out.Count)
		r := m.reading(request.(*dynamodb.QueryInput).ConsistentRead, nil)
		halves := store.ReadHalves(0, r.consistency) // DynamoDB Local reports 0 for an empty page
		if used := out.ConsumedCapacity; used != nil {
			halves = max(halves, int(2*aws.ToFloat64(used.CapacityUnits)))
		}
		t.ReadHalves += int64(halves)
	}
}

// reading is how a request reads items.
type reading struct {
	meter       *Meter
	consistency store.ReadKind
	partial     bool // by a projection expression
}

func (m *Meter) reading(strong *bool, projection *string) reading {
	r := reading{m, store.EventualRead, projection != nil}
	if aws.ToBool(strong) {
		r.consistency = store.StrongRead
	}
	return r
}

// batch counts a BatchGetItem. Unprocessed keys consume nothing. Absent items consume the minimum.
func (m *Meter) batch(t *Tally, asked types.KeysAndAttributes, out *dynamodb.BatchGetItemOutput) {
	r := m.reading(asked.ConsistentRead, asked.ProjectionExpression)
	items := out.Responses[m.table]
	for _, item := range items {
		t.ReadHalves += r.get(t, store.ItemKey(item), item)
	}
	absent := len(asked.Keys) - len(items) - len(out.UnprocessedKeys[m.table].Keys)
	t.ReadHalves += int64(absent * store.ReadHalves(0, r.consistency))
}

// get returns the halves of a read unit that reading one item consumed. An empty item is absent.
func (r reading) get(t *Tally, k store.Key, item store.Item) int64 {
	return int64(store.ReadHalves(r.bytes(t, k, item), r.consistency))
}

// bytes returns the size of the whole item that was read from the table, 0 if it is absent. Of an item that was read in
// part, that is the cached size or, as a guess, the size of the part. It caches the item only after a strong read,
// because others may be stale.
func (r reading) bytes(t *Tally, k store.Key, item store.Item) int {
	switch {
	case len(item) == 0:
		if r.consistency != store.EventualRead {
			r.meter.cache.swap(k, image{})
		}
		return 0
	case !r.partial:
		t.ItemsRead++
		i := r.meter.imageOf(item)
		if r.consistency != store.EventualRead {
			r.meter.cache.swap(k, i)
		}
		return i.bytes
	}
	t.ItemsRead++
	i, _ := r.meter.cache.get(k)
	if i.bytes == 0 {
		t.Guessed++
		return store.SizeOf(item)
	}
	return i.bytes
}
