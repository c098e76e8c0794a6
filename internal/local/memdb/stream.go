package memdb

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// A table's stream is the store's list of changes. The hash of an item's key selects its shard. Shards do not split or
// end. The sequence number of a change is its index in the list, starting at 1.

const (
	// maxRecords and maxRecordBytes bound the reply of GetRecords (AWS, API reference).
	maxRecords     = 1000
	maxRecordBytes = 1 << 20
	// sequenceFormat gives strings of one length, so that they sort like numbers. As in AWS, they have 21 to 40 digits
	// and do not begin with 0.
	sequenceFormat = "100%018d"
)

// shardID returns the id of the table's n-th shard.
func (t *tableState) shardID(n int) string {
	return fmt.Sprintf("shardId-%020d-%08x", t.description.CreationDateTime.UnixMilli(), n)
}

func notFound(what string) error {
	return &streamtypes.ResourceNotFoundException{Message: aws.String("Requested resource not found: " + what)}
}

// streamTable returns the table of a stream. The lock is held.
func (s *Store) streamTable(arn string) (*tableState, error) {
	for _, t := range s.ordered {
		if *t.description.LatestStreamArn == arn {
			return t, nil
		}
	}
	return nil, notFound("stream " + arn)
}

// describeStream answers DescribeStream, with all shards on one page.
func (s *Store) describeStream(
	in *dynamodbstreams.DescribeStreamInput,
) (*dynamodbstreams.DescribeStreamOutput, error) {
	var r struct{ StreamArn *string }
	if err := decode(in, &r); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.streamTable(*r.StreamArn)
	if err != nil {
		return nil, err
	}
	out := &streamtypes.StreamDescription{
		StreamArn: r.StreamArn, StreamLabel: t.description.LatestStreamLabel, TableName: aws.String(t.name),
		StreamStatus: streamtypes.StreamStatusEnabled, StreamViewType: streamtypes.StreamViewTypeNewImage,
		CreationRequestDateTime: t.description.CreationDateTime,
	}
	for n := range s.options.Shards {
		out.Shards = append(out.Shards, streamtypes.Shard{
			ShardId: aws.String(t.shardID(n)),
			SequenceNumberRange: &streamtypes.SequenceNumberRange{
				StartingSequenceNumber: aws.String(fmt.Sprintf(sequenceFormat, 1)),
			},
		})
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

// An iterator is a position in a shard. at is the number of changes of the store before it, reader the number of the
// reader that has it. It does not expire.
type iterator struct {
	arn               string
	shard, reader, at int
}

func (i iterator) text() *string {
	return aws.String(fmt.Sprintf("%d|%d|%d|%s", i.at, i.reader, i.shard, i.arn))
}

func parseIterator(text string) (i iterator, err error) {
	if _, err = fmt.Sscanf(text, "%d|%d|%d|%s", &i.at, &i.reader, &i.shard, &i.arn); err != nil {
		err = validation("Invalid ShardIterator")
	}
	return i, err
}

// getShardIterator answers GetShardIterator for the trim horizon. A pump needs a later position only if an iterator
// expires or a read fails, and neither happens here.
func (s *Store) getShardIterator(
	in *dynamodbstreams.GetShardIteratorInput,
) (*dynamodbstreams.GetShardIteratorOutput, error) {
	var r struct {
		StreamArn, ShardId *string
		ShardIteratorType  streamtypes.ShardIteratorType
	}
	if err := decode(in, &r); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.streamTable(*r.StreamArn)
	if err != nil {
		return nil, err
	}
	i := iterator{arn: *r.StreamArn, at: s.trimmed}
	for i.shard < s.options.Shards && t.shardID(i.shard) != *r.ShardId {
		i.shard++
	}
	if i.shard == s.options.Shards {
		return nil, notFound("shard " + *r.ShardId)
	}
	if r.ShardIteratorType != streamtypes.ShardIteratorTypeTrimHorizon {
		return nil, unsupported("ShardIteratorType " + string(r.ShardIteratorType))
	}
	i.reader = s.readers.add(i.at)
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: i.text()}, nil
}

// getRecords answers GetRecords. It always returns a next iterator, because shards do not end.
func (s *Store) getRecords(in *dynamodbstreams.GetRecordsInput) (*dynamodbstreams.GetRecordsOutput, error) {
	r := struct {
		ShardIterator *string
		Limit         *int32
	}{Limit: aws.Int32(maxRecords)}
	if err := decode(in, &r); err != nil {
		return nil, err
	}
	if *r.Limit < 1 || *r.Limit > maxRecords {
		return nil, validation("Value '%d' at 'limit' failed to satisfy constraint: 1 to %d", *r.Limit, maxRecords)
	}
	i, err := parseIterator(*r.ShardIterator)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.streamTable(i.arn)
	switch {
	case err != nil:
		return nil, err
	case i.at < s.trimmed:
		return nil, &streamtypes.TrimmedDataAccessException{Message: aws.String("It is beyond the trim horizon")}
	}
	s.readers.move(i.reader, i.at) // whoever asks for a page has the records before it
	s.drop()
	most := min(int(*r.Limit), s.trimmed+len(s.changes)-i.at)
	out := &dynamodbstreams.GetRecordsOutput{Records: make([]streamtypes.Record, 0, most)}
	for size := 0; i.at-s.trimmed < len(s.changes) && len(out.Records) < most && size < maxRecordBytes; {
		c := &s.changes[i.at-s.trimmed]
		i.at++
		if c.table == t && c.shard == i.shard {
			record := s.show(c, i.at)
			size += int(*record.Dynamodb.SizeBytes)
			out.Records = append(out.Records, record)
		}
	}
	out.NextShardIterator = i.text()
	return out, nil
}

// show converts a change for GetRecords. If there are several readers, each second one gets what the one before it got:
// readers do not change records. The lock is held.
func (s *Store) show(c *change, sequence int) streamtypes.Record {
	record := c.shown
	c.shown = nil
	if record == nil {
		record = c.record(sequence)
		if len(s.readers.at) > 1 {
			c.shown = record
		}
	}
	return *record
}

// What all records have in common.
var recordRegion, recordSource, recordVersion = aws.String(Region), aws.String("aws:dynamodb"), aws.String("1.1")

// record converts a change. Its id is its sequence number.
func (c *change) record(sequence int) *streamtypes.Record {
	name := streamtypes.OperationTypeModify
	switch {
	case c.after == "":
		name = streamtypes.OperationTypeRemove
	case c.before == "":
		name = streamtypes.OperationTypeInsert
	}
	pk, sk := c.table.keys().partitionKey, c.table.keys().sortKey
	size := len(pk) + len(c.key.PK) + len(sk) + len(c.key.SK) + c.after.size(nil)
	number := aws.String(fmt.Sprintf(sequenceFormat, sequence))
	shown := &streamtypes.Record{
		AwsRegion:    recordRegion,
		EventID:      number,
		EventName:    name,
		EventSource:  recordSource,
		EventVersion: recordVersion,
		Dynamodb: &streamtypes.StreamRecord{
			ApproximateCreationDateTime: aws.Time(c.at.Truncate(time.Second)),
			Keys: map[string]streamtypes.AttributeValue{
				pk: value{packedText, c.key.PK}.streamed(), sk: value{packedText, c.key.SK}.streamed(),
			},
			SequenceNumber: number,
			SizeBytes:      aws.Int64(int64(size)),
			StreamViewType: streamtypes.StreamViewTypeNewImage,
		},
	}
	if c.after != "" {
		shown.Dynamodb.NewImage = streamedItem(c.after)
	}
	return shown
}

// streamedItem returns an item, or a map in one, in the types of the streams SDK. Most values are texts, and these are
// in one array.
func streamedItem(p packed) map[string]streamtypes.AttributeValue {
	texts := make([]streamtypes.AttributeValueMemberS, p.attributes())
	m := make(map[string]streamtypes.AttributeValue, len(texts))
	for i := range texts {
		name, v := p.next()
		if v.letter == packedText {
			texts[i].Value, m[name] = v.text, &texts[i]
		} else {
			m[name] = v.streamed()
		}
	}
	return m
}

// streamed is unpack in the types of the streams SDK.
func (v value) streamed() streamtypes.AttributeValue {
	switch v.letter {
	case packedText:
		return &streamtypes.AttributeValueMemberS{Value: v.text}
	case packedNumber:
		return &streamtypes.AttributeValueMemberN{Value: v.text}
	case packedFlag:
		return &streamtypes.AttributeValueMemberBOOL{Value: v.text == "true"}
	case packedMap:
		return &streamtypes.AttributeValueMemberM{Value: streamedItem(packed(v.text))}
	case packedList:
		l := []streamtypes.AttributeValue{}
		for all := packed(v.text); len(all) > 0; {
			l = append(l, all.value().streamed())
		}
		return &streamtypes.AttributeValueMemberL{Value: l}
	}
	return &streamtypes.AttributeValueMemberNULL{Value: true}
}
