package pump

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"ledger.example/internal/retry"
)

const (
	// pageRecords is the maximum number of records of a GetRecords (AWS, API reference).
	pageRecords = 1000
	// minPoll and maxPoll bound the pause after a page that is not full. It doubles while pages are empty. Balances lag
	// by it.
	minPoll = 20 * time.Millisecond
	maxPoll = 100 * time.Millisecond
)

// shardState is the progress of a shard.
type shardState int

const (
	waiting shardState = iota // its parent has not ended
	reading
	ended // all its records are done or dead letters
)

type shard struct {
	id     string
	parent string // "": none
	state  shardState
	readTo time.Time // all records from before this time were read
}

// listShards lists all shards of the stream, and reports whether it is disabled. Errors: ErrStreamEnded if the stream
// does not exist, or the cause of a failed request.
func (p *Pump) listShards(ctx context.Context) (shards []types.Shard, disabled bool, err error) {
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &p.options.StreamARN}
	for {
		out, err := p.options.Stream.DescribeStream(ctx, in)
		switch {
		case isNotFound(err):
			return nil, false, fmt.Errorf("stream %s: %w", p.options.StreamARN, ErrStreamEnded)
		case err != nil:
			return nil, false, err
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return shards, out.StreamDescription.StreamStatus == types.StreamStatusDisabled, nil
		}
	}
}

// reachable reports whether the stream answers.
func (p *Pump) reachable(ctx context.Context) bool {
	_, _, err := p.listShards(ctx)
	return err == nil || errors.Is(err, ErrStreamEnded)
}

func isNotFound(err error) bool {
	var notFound *types.ResourceNotFoundException
	return errors.As(err, &notFound)
}

// update updates the shards from a list of all shards. It returns the shards that can be read now: their parent has
// ended or no longer exists.
func (p *Pump) update(listing []types.Shard, disabled bool) (starting []*shard) {
	p.mu.Lock()
	defer p.mu.Unlock()
	listed, parents := make(map[string]bool), make(map[string]bool)
	for _, s := range listing {
		id, parent := aws.ToString(s.ShardId), aws.ToString(s.ParentShardId)
		listed[id], parents[parent] = true, true
		if p.shards[id] == nil {
			p.shards[id] = &shard{id: id, parent: parent}
		}
	}
	for id, sh := range p.shards {
		if !listed[id] && sh.state != reading {
			delete(p.shards, id) // trimmed
		}
	}
	p.complete = len(listing) > 0
	for _, sh := range p.shards {
		switch parent := p.shards[sh.parent]; {
		case sh.state == ended && !parents[sh.id] && !disabled:
			p.complete = false // its children are not listed yet
		case sh.state == waiting && (parent == nil || parent.state == ended):
			sh.state = reading
			starting = append(starting, sh)
		}
	}
	return starting
}

func (p *Pump) isComplete() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.complete
}

// shardEnded records that a shard was delivered completely. It does nothing if ctx has ended.
func (p *Pump) shardEnded(ctx context.Context, sh *shard) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sh.state = ended
	p.complete = false // its children may not be listed yet
	p.options.Log.Debug("shard ended", "shard", sh.id)
}

// runShard reads a shard from the trim horizon and delivers its records in order, until the shard or ctx ends. It does
// not read ahead while it delivers.
func (p *Pump) runShard(ctx context.Context, sh *shard) {
	d := &delivery{pump: p, shard: sh.id}
	var iterator *string
	position := "" // sequence number of the last record read
	idle := minPoll
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		out, err := p.page(ctx, sh.id, iterator, position)
		if err != nil {
			iterator = nil
			if p.readFailed(ctx, sh.id, err, &position) {
				_ = d.deliverDue(ctx, true) // its only error is the end of ctx
				return
			}
			failures++
			_ = backoff.Sleep(ctx, failures) // the loop checks ctx
			continue
		}
		failures = 0
		p.streamAnswered()
		if n := len(out.Records); n > 0 {
			position = aws.ToString(out.Records[n-1].Dynamodb.SequenceNumber)
			idle = minPoll
		} else {
			p.mu.Lock()
			sh.readTo = began
			p.mu.Unlock()
		}
		if d.enqueue(ctx, out.Records) != nil {
			return
		}
		iterator = out.NextShardIterator
		if d.deliverDue(ctx, iterator == nil) != nil || iterator == nil {
			return
		}
		if len(out.Records) < pageRecords {
			_ = retry.Sleep(ctx, idle)
			idle = min(2*idle, maxPoll)
		}
	}
}

// page reads the next records of a shard. Without an iterator it starts after position, a sequence number, or at the
// trim horizon if that is "".
func (p *Pump) page(
	ctx context.Context, id string, iterator *string, position string,
) (*dynamodbstreams.GetRecordsOutput, error) {
	if iterator == nil {
		in := &dynamodbstreams.GetShardIteratorInput{
			StreamArn: &p.options.StreamARN, ShardId: &id, ShardIteratorType: types.ShardIteratorTypeTrimHorizon,
		}
		if position != "" {
			in.ShardIteratorType, in.SequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &position
		}
		out, err := p.options.Stream.GetShardIterator(ctx, in)
		if err != nil {
			return nil, err
		}
		iterator = out.ShardIterator
	}
	in := &dynamodbstreams.GetRecordsInput{ShardIterator: iterator, Limit: aws.Int32(pageRecords)}
	return p.options.Stream.GetRecords(ctx, in)
}

// readFailed handles a failed read. over is true if the shard no longer exists or ctx has ended. Otherwise the caller
// must retry from position.
func (p *Pump) readFailed(ctx context.Context, id string, err error, position *string) (over bool) {
	var expired *types.ExpiredIteratorException
	var trimmed *types.TrimmedDataAccessException
	switch {
	case ctx.Err() != nil:
		return true
	case errors.As(err, &expired):
		p.options.Log.Debug("the iterator expired, continuing from the position", "shard", id)
	case errors.As(err, &trimmed):
		p.options.Log.Error("records were trimmed before they were read: run ledger rebuild",
			"shard", id, "after", *position)
		*position = ""
	case isNotFound(err):
		shards, _, err := p.listShards(ctx)
		listed := slices.ContainsFunc(shards, func(s types.Shard) bool { return aws.ToString(s.ShardId) == id })
		if err == nil && !listed {
			p.options.Log.Warn("the shard no longer exists", "shard", id)
			return true
		}
	default:
		p.streamFailed(fmt.Errorf("shard %s: %w", id, err))
	}
	return false
}
