package pump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	// pageRecords is how many records one GetRecords may return; the API
	// allows 1,000.
	pageRecords = 1000
	// minPoll and maxPoll bound the pause before a shard is asked again that
	// had less than a page: it doubles while there is nothing. Balances lag by
	// it, and it keeps an idle machine idle.
	minPoll = 20 * time.Millisecond
	maxPoll = 100 * time.Millisecond
	// readAheadBatches is how many batches are read ahead of the handler; the
	// page that is being read comes on top.
	readAheadBatches = 2
)

// runShard reads a shard and delivers its records, in order within a lane,
// until it ends or ctx does.
func (p *Pump) runShard(ctx context.Context, sh *shard) {
	lanes := make([]chan record, p.settings.ParallelizationFactor)
	var consumers sync.WaitGroup
	for i := range lanes {
		lanes[i] = make(chan record, readAheadBatches*p.settings.BatchSize)
		l := &lane{pump: p, shard: sh.id, records: lanes[i]}
		consumers.Go(func() { l.run(ctx) })
	}
	p.read(ctx, sh, lanes)
	for _, l := range lanes {
		close(l)
	}
	consumers.Wait()
}

// read reads a shard from the trim horizon into the lanes, until the shard or
// ctx ends.
func (p *Pump) read(ctx context.Context, sh *shard, lanes []chan record) {
	var iterator *string
	position := "" // sequence number of the last record read
	idle := minPoll
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		out, err := p.page(ctx, sh.id, iterator, position)
		if err != nil {
			iterator = nil
			if p.readFailed(ctx, sh.id, err, &position) {
				return
			}
			pause(ctx, backoff(failures))
			failures++
			continue
		}
		failures = 0
		p.answered()
		if n := len(out.Records); n > 0 {
			position = sequenceNumber(out.Records[n-1])
			idle = minPoll
			if !p.enqueue(ctx, sh.id, out.Records, lanes) {
				return
			}
		} else {
			p.mu.Lock()
			sh.readTo = began
			p.mu.Unlock()
		}
		if out.NextShardIterator == nil {
			return
		}
		iterator = out.NextShardIterator
		if len(out.Records) < pageRecords {
			pause(ctx, idle)
			idle = min(2*idle, maxPoll)
		}
	}
}

func sequenceNumber(r types.Record) string {
	if r.Dynamodb == nil {
		return ""
	}
	return aws.ToString(r.Dynamodb.SequenceNumber)
}

// page reads the next records of a shard, by the iterator if there is one, and
// else from right after position.
func (p *Pump) page(ctx context.Context, id string, iterator *string, position string) (*dynamodbstreams.GetRecordsOutput, error) {
	if iterator == nil {
		in := &dynamodbstreams.GetShardIteratorInput{
			StreamArn:         &p.arn,
			ShardId:           &id,
			ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		}
		if position != "" {
			in.ShardIteratorType = types.ShardIteratorTypeAfterSequenceNumber
			in.SequenceNumber = &position
		}
		out, err := p.stream.GetShardIterator(ctx, in)
		if err != nil {
			return nil, err
		}
		iterator = out.ShardIterator
	}
	return p.stream.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{
		ShardIterator: iterator,
		Limit:         aws.Int32(pageRecords),
	})
}

// readFailed tells whether a failed read means that the shard is over; else it
// is to be tried again, from position.
func (p *Pump) readFailed(ctx context.Context, id string, err error, position *string) (over bool) {
	var expired *types.ExpiredIteratorException
	var trimmed *types.TrimmedDataAccessException
	switch {
	case ctx.Err() != nil:
		return true
	case errors.As(err, &expired):
		p.log.Debug("the iterator expired, going on from the position", "shard", id)
	case errors.As(err, &trimmed):
		p.log.Error("records were trimmed before they were read; going on from the trim horizon, rebuild what they changed",
			"shard", id, "after", *position)
		*position = ""
	case isNotFound(err):
		shards, _, err := p.describe(ctx)
		listed := slices.ContainsFunc(shards, func(s types.Shard) bool { return aws.ToString(s.ShardId) == id })
		if err == nil && !listed {
			p.log.Warn("the shard is gone", "shard", id)
			return true
		}
	default:
		p.failed(fmt.Errorf("shard %s: %w", id, err))
	}
	return false
}

// enqueue hands over what passes the filters, waiting while the lanes are full.
// It tells whether ctx is still alive.
func (p *Pump) enqueue(ctx context.Context, id string, records []types.Record, lanes []chan record) bool {
	seen := time.Now()
	passed := make([]record, 0, len(records))
	for _, r := range records {
		c, err := convert(r, p.arn, seen)
		pass := false
		if err == nil {
			pass, err = p.filter.matches(c.event)
		}
		if err != nil {
			p.count(func(s *Stats) { s.Records++; s.Pending++ })
			if p.setAside(ctx, id, []record{c}, unreadable, 0, err) != nil {
				return false
			}
			continue
		}
		p.count(func(s *Stats) {
			s.Records++
			if pass {
				s.Pending++
			} else {
				s.Filtered++
			}
		})
		if pass {
			passed = append(passed, c)
		}
	}
	for _, r := range passed {
		select {
		case lanes[r.lane(len(lanes))] <- r:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
