package pump

import (
	"bytes"
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

// Why a batch was set aside, in Lambda's words.
const (
	retriesExhausted = "RetryAttemptsExhausted"
	ageExceeded      = "RecordAgeExceeded"
	// unreadable is ours: the record holds what this package doesn't know.
	unreadable = "Unreadable"
)

// invocationRecord is one line of the file of what was set aside. It has the
// shape of the object that Lambda puts into an S3 bucket which is the
// on-failure destination of an event source mapping (Developer Guide, "Retain
// discarded batch records for a DynamoDB event source"), with the handler's
// error as functionError and without the function's ARN.
type invocationRecord struct {
	RequestContext struct {
		RequestID              string `json:"requestId"`
		Condition              string `json:"condition"`
		ApproximateInvokeCount int    `json:"approximateInvokeCount"`
	} `json:"requestContext"`
	ResponseContext struct {
		FunctionError string `json:"functionError,omitempty"`
	} `json:"responseContext"`
	Version   string `json:"version"`
	Timestamp string `json:"timestamp"`
	BatchInfo struct {
		ShardID             string `json:"shardId"`
		StartSequenceNumber string `json:"startSequenceNumber"`
		EndSequenceNumber   string `json:"endSequenceNumber"`
		ArrivalOfFirst      string `json:"approximateArrivalOfFirstRecord"`
		ArrivalOfLast       string `json:"approximateArrivalOfLastRecord"`
		BatchSize           int    `json:"batchSize"`
		StreamARN           string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
	// Payload is the whole event as JSON text: {"Records":[...]}.
	Payload string `json:"payload"`
}

// invocationTime is how Lambda writes times in an invocation record.
const invocationTime = "2006-01-02T15:04:05.000Z"

// setAside keeps the records of a batch that is given up, whole. It tries until
// they are on the disk: dropping them is the one thing that must not happen. It
// returns an error only when ctx ended before that.
func (p *Pump) setAside(ctx context.Context, shard string, batch []record, condition string, invoked int, cause error) error {
	for failures := 0; ; failures++ {
		line, err := p.invocationRecord(shard, batch, condition, invoked, cause)
		if err == nil {
			err = p.aside.append(line)
		}
		if err == nil {
			break
		}
		p.log.Error("records cannot be set aside, trying again", "file", p.aside.path, "error", err)
		if !pause(ctx, backoff(failures)) {
			return ctx.Err()
		}
	}
	p.count(func(s *Stats) {
		s.SetAside += int64(len(batch))
		s.Pending -= int64(len(batch))
	})
	p.log.Error("records set aside", "file", p.aside.path, "condition", condition, "shard", shard,
		"records", len(batch), "first", batch[0].sequenceNumber(), "last", batch[len(batch)-1].sequenceNumber(), "error", cause)
	return nil
}

func (p *Pump) invocationRecord(shard string, batch []record, condition string, invoked int, cause error) ([]byte, error) {
	payload, err := json.Marshal(event(batch))
	if err != nil {
		return nil, err
	}
	first, last := batch[0].event.Change, batch[len(batch)-1].event.Change
	var r invocationRecord
	r.RequestContext.RequestID = ksuid.New().String()
	r.RequestContext.Condition = condition
	r.RequestContext.ApproximateInvokeCount = invoked
	if cause != nil {
		r.ResponseContext.FunctionError = cause.Error()
	}
	r.Version = "1.0"
	r.Timestamp = time.Now().UTC().Format(invocationTime)
	r.BatchInfo.ShardID = shard
	r.BatchInfo.StartSequenceNumber = first.SequenceNumber
	r.BatchInfo.EndSequenceNumber = last.SequenceNumber
	r.BatchInfo.ArrivalOfFirst = first.ApproximateCreationDateTime.UTC().Format(invocationTime)
	r.BatchInfo.ArrivalOfLast = last.ApproximateCreationDateTime.UTC().Format(invocationTime)
	r.BatchInfo.BatchSize = len(batch)
	r.BatchInfo.StreamARN = p.arn
	r.Payload = string(payload)
	return json.Marshal(r)
}

// reachable tells whether the stream answers.
func (p *Pump) reachable(ctx context.Context) bool {
	_, _, err := p.describe(ctx)
	return err == nil || errors.Is(err, ErrStreamNotFound)
}

// asideFile is a file of JSON lines that only grows. It is safe for concurrent
// use.
type asideFile struct {
	path string
	mu   sync.Mutex
}

// append writes a line and returns when it is on the disk. A line that a crash
// cut off stays as it is, on a line of its own.
func (a *asideFile) append(line []byte) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(a.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return fmt.Errorf("read the end of %s: %w", a.path, err)
		}
		if last[0] != '\n' {
			out.WriteByte('\n')
		}
	}
	out.Write(line)
	out.WriteByte('\n')
	if _, err := f.Write(out.Bytes()); err != nil {
		return err
	}
	return f.Sync()
}
