package pump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const testARN = "arn:aws:dynamodb:ddblocal:000000000000:table/books/stream/2026"

// script is a fake stream that a test writes to. It follows the service's rules: iterators belong to a shard and
// expire, listings have pages, and trimmed records are lost.
type script struct {
	mu     sync.Mutex
	status types.StreamStatus
	gone   bool
	shards []*scriptShard
	epoch  int                                 // raised to expire all iterators
	fault  func(operation, shard string) error // may fail a call; nil: none
	next   int                                 // sequence number
}

// shardsOnPage is the number of shards in a page of a listing.
const shardsOnPage = 2

type scriptShard struct {
	id, parent string
	records    []types.Record
	trimmed    int // how many of the records are gone
	closed     bool
}

func newScript() *script { return &script{status: types.StreamStatusEnabled, next: 100} }

func (s *script) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *script) shard(id, parent string) {
	s.change(func() { s.shards = append(s.shards, &scriptShard{id: id, parent: parent}) })
}

func (s *script) close(id string) { s.change(func() { s.find(id).closed = true }) }

func (s *script) find(id string) *scriptShard {
	for _, sh := range s.shards {
		if sh.id == id {
			return sh
		}
	}
	return nil
}

// put adds a record for each item to a shard.
func (s *script) put(shard string, items ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range items {
		s.next++
		sh := s.find(shard)
		sh.records = append(sh.records, types.Record{
			EventID: aws.String("event-" + item), EventName: types.OperationTypeInsert,
			Dynamodb: &types.StreamRecord{
				ApproximateCreationDateTime: aws.Time(time.Now().Truncate(time.Second)),
				Keys:                        map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: item}},
				NewImage: map[string]types.AttributeValue{
					"PK":   &types.AttributeValueMemberS{Value: item},
					"Cost": &types.AttributeValueMemberN{Value: "150000"},
					"Map": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
						"None": &types.AttributeValueMemberNULL{Value: true},
					}},
					"List": &types.AttributeValueMemberL{Value: []types.AttributeValue{
						&types.AttributeValueMemberBOOL{Value: true},
					}},
				},
				SequenceNumber: aws.String(fmt.Sprintf("%021d", s.next)),
			},
		})
	}
}

func (s *script) begin(ctx context.Context, operation, shard string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fault != nil {
		if err := s.fault(operation, shard); err != nil {
			return err
		}
	}
	if s.gone {
		return notFound()
	}
	return nil
}

func notFound() error {
	return &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
}

func (s *script) DescribeStream(
	ctx context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "DescribeStream", ""); err != nil {
		return nil, err
	}
	var all []types.Shard
	for _, sh := range s.shards {
		listed := types.Shard{ShardId: aws.String(sh.id)}
		if sh.parent != "" {
			listed.ParentShardId = aws.String(sh.parent)
		}
		all = append(all, listed)
	}
	if start := in.ExclusiveStartShardId; start != nil {
		i := slices.IndexFunc(all, func(sh types.Shard) bool { return *sh.ShardId == *start })
		all = all[i+1:]
	}
	description := &types.StreamDescription{StreamStatus: s.status, Shards: all}
	if len(all) > shardsOnPage {
		description.Shards = all[:shardsOnPage]
		description.LastEvaluatedShardId = all[shardsOnPage-1].ShardId
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: description}, nil
}

func (s *script) GetShardIterator(
	ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(ctx, "GetShardIterator", *in.ShardId); err != nil {
		return nil, err
	}
	sh := s.find(*in.ShardId)
	if sh == nil {
		return nil, notFound()
	}
	at := sh.trimmed
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeTrimHorizon:
	case types.ShardIteratorTypeAfterSequenceNumber:
		at = 1 + slices.IndexFunc(sh.records, func(r types.Record) bool {
			return *r.Dynamodb.SequenceNumber == *in.SequenceNumber
		})
		if at < sh.trimmed {
			return nil, &types.TrimmedDataAccessException{Message: aws.String("trimmed")}
		}
	default:
		return nil, fmt.Errorf("iterator type %s", in.ShardIteratorType)
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: s.iterator(sh, at)}, nil
}

func (s *script) iterator(sh *scriptShard, at int) *string {
	return aws.String(fmt.Sprintf("%s|%d|%d", sh.id, at, s.epoch))
}

func (s *script) GetRecords(
	ctx context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options),
) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := strings.Split(*in.ShardIterator, "|")
	if err := s.begin(ctx, "GetRecords", parts[0]); err != nil {
		return nil, err
	}
	at, err1 := strconv.Atoi(parts[1])
	epoch, err2 := strconv.Atoi(parts[2])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	sh := s.find(parts[0])
	switch {
	case sh == nil:
		return nil, notFound()
	case epoch != s.epoch:
		return nil, &types.ExpiredIteratorException{Message: aws.String("expired")}
	case at < sh.trimmed:
		return nil, &types.TrimmedDataAccessException{Message: aws.String("trimmed")}
	}
	records := sh.records[at:min(at+int(*in.Limit), len(sh.records))]
	out := &dynamodbstreams.GetRecordsOutput{Records: slices.Clone(records)}
	if at += len(records); !sh.closed || at < len(sh.records) {
		out.NextShardIterator = s.iterator(sh, at)
	}
	return out, nil
}
