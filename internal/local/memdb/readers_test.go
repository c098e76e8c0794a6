package memdb

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
)

// stream is a table with readers of its stream.
type stream struct {
	*testing.T
	*Store
	table *tableState
	next  map[int]*string // iterators by reader
}

func newStream(t *testing.T, readers int) *stream {
	s := &stream{T: t, Store: New(Options{Shards: 1}), next: make(map[int]*string)}
	if _, err := dynamolocal.CreateTable(t.Context(), s.DynamoDB(), "books"); err != nil {
		t.Fatal(err)
	}
	s.table = s.tables["books"]
	for n := range readers {
		out, err := s.getShardIterator(&dynamodbstreams.GetShardIteratorInput{
			StreamArn: s.table.description.LatestStreamArn, ShardId: aws.String(s.table.shardID(0)),
			ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.next[n] = out.ShardIterator
	}
	return s
}

// change adds changes of projections.
func (s *stream) change(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.recordChange(change{table: s.table, at: time.Unix(0, 0)})
	}
}

// read reads pages of a reader, and returns the number of records.
func (s *stream) read(reader, pages int) (records int) {
	s.Helper()
	for range pages {
		out, err := s.getRecords(&dynamodbstreams.GetRecordsInput{ShardIterator: s.next[reader]})
		if err != nil {
			s.Fatal(err)
		}
		records += len(out.Records)
		s.next[reader] = out.NextShardIterator
	}
	return records
}

// post writes an item, and returns how long that took.
func (s *stream) post(k table.Key) time.Duration {
	s.Helper()
	began := time.Now()
	if _, err := s.DynamoDB().TransactWriteItems(s.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: &s.table.name, Item: table.KeyItem(k)}}},
	}); err != nil {
		s.Fatal(err)
	}
	return time.Since(began)
}

// skip lets a reader ask next for what comes after the newest change, as if it had read all before.
func (s *stream) skip(reader int) {
	i, err := parseIterator(*s.next[reader])
	if err != nil {
		s.Fatal(err)
	}
	i.at = s.trimmed + len(s.changes)
	s.next[reader] = i.text()
}

// What a reader has not read is kept, however slow it is. What all have read is dropped.
func TestStreamKeepsWhatAReaderHasNotRead(t *testing.T) {
	s := newStream(t, 2)
	s.change(2 * changesKept)
	s.read(0, 1)
	s.skip(0)
	s.read(0, 1)
	if got := s.read(1, 2); got != 2*maxRecords {
		t.Errorf("the second reader read %d of %d", got, 2*maxRecords)
	}
	s.skip(1)
	if s.read(1, 1); len(s.changes) >= dropAtOnce {
		t.Errorf("%d changes are kept", len(s.changes))
	}
}

// A write of an event waits until the reader that is far behind goes on, or for waitMost. Other writes do not wait: a
// reader makes them.
func TestWritersOfEventsWaitForReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		event := func(n int) table.Key { return table.Asset.Key(fmt.Sprint("A", n)) }
		unread := newStream(t, 0)
		unread.change(changesAhead + 1)
		if took := unread.post(event(0)); took != 0 {
			t.Errorf("without a reader a write took %v", took)
		}
		s := newStream(t, 2)
		s.change(changesAhead)
		if took := s.post(event(1)); took != 0 {
			t.Errorf("a write took %v, and no reader is too far behind", took)
		}
		if took := s.post(event(2)); took != waitMost {
			t.Errorf("with readers that stopped, a write took %v", took)
		}
		if took := s.post(table.Summary.Key("jane")); took != 0 {
			t.Errorf("the write of a projection took %v", took)
		}
		go func() {
			time.Sleep(waitMost / 4)
			s.read(0, 2)
			time.Sleep(waitMost / 4)
			s.read(1, 2)
		}()
		if took := s.post(event(3)); took != waitMost/2 {
			t.Errorf("a write took %v, and the last reader went on after %v", took, waitMost/2)
		}
		synctest.Wait()
	})
}
