package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	// recordsMost and recordBytes are what GetRecords returns at most, shardsMost what DescribeStream does (AWS, API reference).
	recordsMost = 1000
	recordBytes = 1 << 20
	shardsMost  = 100
	// iteratorAge is how long an iterator can be used.
	iteratorAge = 15 * time.Minute
)

// stream returns a stream by its ARN, and its table. The lock is held.
func (s *Store) stream(arn *string) (*books, error) {
	for _, b := range s.ordered {
		if b.stream != nil && b.stream.arn == aws.ToString(arn) {
			b.stream.drop(s.now())
			return b, nil
		}
	}
	return nil, &types.ResourceNotFoundException{Message: aws.String("Requested resource not found: Stream: " + aws.ToString(arn) + " not found")}
}

func (s *Store) describeStream(in *dynamodbstreams.DescribeStreamInput) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.stream(in.StreamArn)
	if err != nil {
		return nil, err
	}
	limit := shardsMost
	if in.Limit != nil {
		if limit = int(*in.Limit); limit < 1 || limit > shardsMost {
			return nil, validation("Value '%d' at 'limit' failed to satisfy constraint: Member must be between 1 and %d", limit, shardsMost)
		}
	}
	made := *b.description.CreationDateTime
	out := &types.StreamDescription{
		StreamArn: aws.String(b.stream.arn), StreamLabel: aws.String(b.stream.label), StreamStatus: types.StreamStatusEnabled,
		StreamViewType: types.StreamViewTypeNewImage, TableName: aws.String(b.name), CreationRequestDateTime: &made,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(b.partitionKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(b.sortKey), KeyType: types.KeyTypeRange},
		},
	}
	started := in.ExclusiveStartShardId == nil
	for _, sh := range b.stream.shards {
		switch {
		case !started:
			started = sh.id == *in.ExclusiveStartShardId
			continue
		case len(out.Shards) == limit:
			out.LastEvaluatedShardId = out.Shards[limit-1].ShardId
			return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
		}
		shown := types.Shard{
			ShardId:             aws.String(sh.id),
			SequenceNumberRange: &types.SequenceNumberRange{StartingSequenceNumber: aws.String(sequenceText(sh.first))},
		}
		if sh.parent != "" {
			shown.ParentShardId = aws.String(sh.parent)
		}
		if !sh.closed.IsZero() {
			shown.SequenceNumberRange.EndingSequenceNumber = aws.String(sequenceText(sh.last))
		}
		out.Shards = append(out.Shards, shown)
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

// An iterator is a position in a shard: how many of its records lie before it.
type iterator struct {
	arn, shard string
	at         int
	made       time.Time
}

func (i iterator) String() string {
	return fmt.Sprintf("%s|%d|%d|%s", i.shard, i.at, i.made.UnixNano(), i.arn)
}

func parseIterator(text string) (i iterator, ok bool) {
	parts := strings.SplitN(text, "|", 4)
	if len(parts) != 4 {
		return i, false
	}
	at, err := strconv.Atoi(parts[1])
	if err != nil {
		return i, false
	}
	made, err := strconv.ParseInt(parts[2], 10, 64)
	return iterator{parts[3], parts[0], at, time.Unix(0, made)}, err == nil
}

func trimmed(what string) error {
	return &types.TrimmedDataAccessException{Message: aws.String("The " + what + " is beyond the trim horizon")}
}

func noShard(id *string) error {
	return &types.ResourceNotFoundException{Message: aws.String("Requested resource not found: Shard does not exist: " + aws.ToString(id))}
}

func (s *Store) getShardIterator(in *dynamodbstreams.GetShardIteratorInput) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.stream(in.StreamArn)
	if err != nil {
		return nil, err
	}
	sh := b.stream.shard(aws.ToString(in.ShardId))
	if sh == nil {
		return nil, noShard(in.ShardId)
	}
	i := iterator{b.stream.arn, sh.id, sh.trimmed, s.now()}
	switch in.ShardIteratorType {
	case types.ShardIteratorTypeTrimHorizon:
	case types.ShardIteratorTypeLatest:
		i.at += len(sh.records)
	case types.ShardIteratorTypeAtSequenceNumber, types.ShardIteratorTypeAfterSequenceNumber:
		sequence, ok := parseSequence(aws.ToString(in.SequenceNumber))
		if !ok || sequence < sh.first || sequence > b.stream.sequence || !sh.closed.IsZero() && sequence > sh.last {
			return nil, validation("Invalid SequenceNumber: %s", aws.ToString(in.SequenceNumber))
		}
		if in.ShardIteratorType == types.ShardIteratorTypeAfterSequenceNumber {
			sequence++
		}
		n := 0
		for n < len(sh.records) && sh.records[n].sequence < sequence {
			n++
		}
		if n == 0 && sh.trimmed > 0 && (len(sh.records) == 0 || sh.records[0].sequence > sequence) {
			return nil, trimmed("sequence number")
		}
		i.at += n
	default:
		return nil, validation("Value '%s' at 'shardIteratorType' failed to satisfy constraint", in.ShardIteratorType)
	}
	text := i.String()
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: &text}, nil
}

func (s *Store) getRecords(in *dynamodbstreams.GetRecordsInput) (*dynamodbstreams.GetRecordsOutput, error) {
	limit := recordsMost
	if in.Limit != nil {
		if limit = int(*in.Limit); limit < 1 || limit > recordsMost {
			return nil, validation("Value '%d' at 'limit' failed to satisfy constraint: Member must be between 1 and %d", limit, recordsMost)
		}
	}
	i, ok := parseIterator(aws.ToString(in.ShardIterator))
	if !ok {
		return nil, validation("Invalid ShardIterator")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(i.made) > iteratorAge {
		return nil, &types.ExpiredIteratorException{Message: aws.String("Iterator is expired")}
	}
	b, err := s.stream(&i.arn)
	if err != nil {
		return nil, err
	}
	sh := b.stream.shard(i.shard)
	switch {
	case sh == nil:
		return nil, noShard(&i.shard)
	case i.at < sh.trimmed:
		return nil, trimmed("iterator")
	}
	out := &dynamodbstreams.GetRecordsOutput{Records: []types.Record{}}
	for size := 0; i.at-sh.trimmed < len(sh.records) && len(out.Records) < limit && size < recordBytes; i.at++ {
		r := sh.records[i.at-sh.trimmed]
		size += r.image.bytes()
		out.Records = append(out.Records, r.shown(b))
	}
	if sh.closed.IsZero() || i.at-sh.trimmed < len(sh.records) {
		i.made = now
		out.NextShardIterator = aws.String(i.String())
	}
	return out, nil
}
