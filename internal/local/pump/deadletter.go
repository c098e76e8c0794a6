package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/segmentio/ksuid"
)

// Conditions of dead letters. Lambda has the first one. The second one is for a record with an attribute of an unknown
// type.
const (
	retriesExhausted = "RetryAttemptsExhausted"
	unreadable       = "Unreadable"
)

// deadLetterTime is the format of times in a dead letter.
const deadLetterTime = "2006-01-02T15:04:05.000Z"

// fileLock serializes writes to dead letter files, which several pumps may share.
var fileLock sync.Mutex

// writeDeadLetter appends the records of a batch to the dead letter file. It retries until they are on the disk,
// because nothing else stores them. It returns an error only if ctx ends before that.
func (p *Pump) writeDeadLetter(
	ctx context.Context, shard string, batch []record, condition string, invocations int, cause error,
) error {
	for failures := 1; ; failures++ {
		line, err := p.newDeadLetter(shard, batch, condition, invocations, cause)
		if err == nil {
			err = p.appendDeadLetter(line)
		}
		if err == nil {
			break
		}
		p.options.Log.Error("the dead letter file cannot be written, retrying",
			"file", p.options.DeadLetters, "error", err)
		if err := backoff.Sleep(ctx, failures); err != nil {
			return err
		}
	}
	p.addPending(-len(batch))
	p.options.Log.Error("records became a dead letter", "file", p.options.DeadLetters,
		"condition", condition, "shard", shard, "records", len(batch),
		"first", batch[0].sequenceNumber(), "error", cause)
	return nil
}

// newDeadLetter returns a line of the dead letter file. It has the format of the objects that Lambda writes to an S3
// on-failure destination of an event source mapping (Developer Guide, "Retain discarded batch records for a DynamoDB
// event source"). It adds the handler's error as functionError and has no function ARN. The payload is the event as a
// JSON string: {"Records":[...]}.
func (p *Pump) newDeadLetter(
	shard string, batch []record, condition string, invocations int, cause error,
) ([]byte, error) {
	payload, err := json.Marshal(eventOf(batch))
	if err != nil {
		return nil, err
	}
	answer := map[string]any{}
	if cause != nil {
		answer["functionError"] = cause.Error()
	}
	first, last := batch[0].event.Change, batch[len(batch)-1].event.Change
	return json.Marshal(map[string]any{
		"requestContext": map[string]any{
			"requestId": ksuid.New().String(), "condition": condition, "approximateInvokeCount": invocations,
		},
		"responseContext": answer,
		"version":         "1.0",
		"timestamp":       time.Now().UTC().Format(deadLetterTime),
		"DDBStreamBatchInfo": map[string]any{
			"shardId": shard, "streamArn": p.options.StreamARN, "batchSize": len(batch),
			"startSequenceNumber": first.SequenceNumber, "endSequenceNumber": last.SequenceNumber,
			"approximateArrivalOfFirstRecord": first.ApproximateCreationDateTime.UTC().Format(deadLetterTime),
			"approximateArrivalOfLastRecord":  last.ApproximateCreationDateTime.UTC().Format(deadLetterTime),
		},
		"payload": string(payload),
	})
}

// appendDeadLetter appends a line and returns when it is on the disk. If a crash truncated the last line, the new line
// still begins on a new line. It is safe for concurrent use.
func (p *Pump) appendDeadLetter(line []byte) (err error) {
	fileLock.Lock()
	defer fileLock.Unlock()
	if err := os.MkdirAll(filepath.Dir(p.options.DeadLetters), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p.options.DeadLetters, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return fmt.Errorf("read the end of %s: %w", p.options.DeadLetters, err)
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	return f.Sync()
}
