package memory

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/ledger/table"
)

const (
	// streamAge is how long a record is kept (AWS, "Change data capture for DynamoDB Streams").
	streamAge = 24 * time.Hour
	// streamRecords is how many records a shard keeps at most, so that a store that is used for long keeps its size.
	streamRecords = 250_000
)

// A stream is what happened to a table's items, in shards by the hash of their keys.
type stream struct {
	arn, label string
	sequence   int64
	shards     []*shard // parents before their children
}

// A shard holds the records of the items whose hashes lie in [from, to], in order.
type shard struct {
	id, parent string
	from, to   uint64
	made       time.Time
	first      int64 // the sequence number that its records come at or after
	last       int64 // that of the last possible one, when it is closed
	closed     time.Time
	records    []record
	trimmed    int // records dropped from the front
}

type record struct {
	sequence int64
	key      table.Key
	image    item // nil: deleted
	inserted bool
	at       time.Time
}

func newStream(arn, label string, now time.Time, shards int) *stream {
	t := &stream{arn: arn, label: label}
	width := ^uint64(0)/uint64(shards) + 1
	if shards == 1 {
		width = 0
	}
	for n := range shards {
		to := uint64(n+1)*width - 1
		if n == shards-1 {
			to = ^uint64(0)
		}
		t.open("", uint64(n)*width, to, now)
	}
	return t
}

// open adds a shard.
func (t *stream) open(parent string, from, to uint64, now time.Time) {
	t.shards = append(t.shards, &shard{
		id:     fmt.Sprintf("shardId-%020d-%08x", now.UnixMilli(), len(t.shards)),
		parent: parent, from: from, to: to, made: now, first: t.sequence + 1,
	})
}

// append adds a record of what became of an item.
func (t *stream) append(b *books, k table.Key, before, after item, at time.Time) {
	h := hash(k.PK + "\x00" + k.SK)
	for _, sh := range t.shards {
		if sh.closed.IsZero() && sh.from <= h && h <= sh.to {
			t.sequence++
			sh.records = append(sh.records, record{t.sequence, k, after, before == nil, at})
			sh.trim(at)
			return
		}
	}
}

// trim drops what is too old or too much.
func (sh *shard) trim(now time.Time) {
	n := max(len(sh.records)-streamRecords, 0)
	for n < len(sh.records) && now.Sub(sh.records[n].at) > streamAge {
		n++
	}
	if n == 0 {
		return
	}
	clear(sh.records[:n]) // lets go of the images
	sh.records, sh.trimmed = sh.records[n:], sh.trimmed+n
}

// split closes a shard and opens two in its place. It tells whether there was such an open shard.
func (t *stream) split(id string, now time.Time) bool {
	for _, sh := range t.shards {
		if sh.id != id || !sh.closed.IsZero() || sh.from == sh.to {
			continue
		}
		sh.closed, sh.last = now, t.sequence
		t.sequence++ // so that no child begins where its parent ends
		middle := sh.from + (sh.to-sh.from)/2
		t.open(sh.id, sh.from, middle, now)
		t.open(sh.id, middle+1, sh.to, now)
		return true
	}
	return false
}

// Split closes a shard of some table's stream and opens two children in its place; an empty id means the first open one.
// It returns an error if there is no such open shard.
func (s *Store) Split(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.ordered {
		if b.stream == nil {
			continue
		}
		split := id
		for _, sh := range b.stream.shards {
			if split == "" && sh.closed.IsZero() {
				split = sh.id
			}
		}
		if b.stream.split(split, s.now()) {
			return nil
		}
	}
	return fmt.Errorf("memory: there is no open shard %q", id)
}

// drop forgets closed shards all of whose records are too old.
func (t *stream) drop(now time.Time) {
	t.shards = slices.DeleteFunc(t.shards, func(sh *shard) bool {
		sh.trim(now)
		return !sh.closed.IsZero() && len(sh.records) == 0 && now.Sub(sh.closed) > streamAge
	})
}

func (t *stream) shard(id string) *shard {
	for _, sh := range t.shards {
		if sh.id == id {
			return sh
		}
	}
	return nil
}

// sequenceDigits is how long sequence numbers are: 21 to 40 digits in AWS.
const sequenceDigits = 21

// sequenceBase makes sequence numbers begin as AWS's do, not with a zero.
const sequenceBase = "100"

func sequenceText(n int64) string {
	return sequenceBase + fmt.Sprintf("%0*d", sequenceDigits-len(sequenceBase), n)
}

func parseSequence(text string) (int64, bool) {
	if len(text) != sequenceDigits || text[:len(sequenceBase)] != sequenceBase {
		return 0, false
	}
	n, err := strconv.ParseInt(text[len(sequenceBase):], 10, 64)
	return n, err == nil
}

// shown is a record as GetRecords shows it.
func (r record) shown(b *books) streamtypes.Record {
	name := streamtypes.OperationTypeModify
	switch {
	case r.image == nil:
		name = streamtypes.OperationTypeRemove
	case r.inserted:
		name = streamtypes.OperationTypeInsert
	}
	keys := map[string]streamtypes.AttributeValue{
		b.partitionKey: &streamtypes.AttributeValueMemberS{Value: r.key.PK},
		b.sortKey:      &streamtypes.AttributeValueMemberS{Value: r.key.SK},
	}
	sequence := sequenceText(r.sequence)
	size := int64(len(b.partitionKey) + len(r.key.PK) + len(b.sortKey) + len(r.key.SK) + r.image.bytes())
	at := r.at.Truncate(time.Second)
	shown := streamtypes.Record{
		AwsRegion:    aws.String(Region),
		EventID:      aws.String(fmt.Sprintf("%032x", r.sequence)),
		EventName:    name,
		EventSource:  aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		Dynamodb: &streamtypes.StreamRecord{
			ApproximateCreationDateTime: &at,
			Keys:                        keys,
			SequenceNumber:              &sequence,
			SizeBytes:                   &size,
			StreamViewType:              streamtypes.StreamViewTypeNewImage,
		},
	}
	if r.image != nil {
		shown.Dynamodb.NewImage = make(map[string]streamtypes.AttributeValue, len(r.image))
		for _, a := range r.image {
			shown.Dynamodb.NewImage[a.name] = streamed(a.value)
		}
	}
	return shown
}

// streamed is a kept value as the stream's SDK has it.
func streamed(v types.AttributeValue) streamtypes.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &streamtypes.AttributeValueMemberS{Value: v.Value}
	case *types.AttributeValueMemberN:
		return &streamtypes.AttributeValueMemberN{Value: v.Value}
	case *types.AttributeValueMemberB:
		return &streamtypes.AttributeValueMemberB{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &streamtypes.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberM:
		m := make(map[string]streamtypes.AttributeValue, len(v.Value))
		for name, element := range v.Value {
			m[name] = streamed(element)
		}
		return &streamtypes.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberL:
		l := make([]streamtypes.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			l[i] = streamed(element)
		}
		return &streamtypes.AttributeValueMemberL{Value: l}
	}
	return &streamtypes.AttributeValueMemberNULL{Value: true}
}
