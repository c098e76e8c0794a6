// Package pump stands in for Lambda's event source mapping for a DynamoDB stream. Neither DynamoDB Local nor `sam
// local` has one.
//
// A Pump reads the shards of a stream, each after its parent. It passes the records that match the filters to the
// handler that Lambda runs, in batches and in order. It follows Lambda's rules for failures (see delivery.deliver):
// bisecting, retries, and a dead-letter file. It does not store its position: each start begins at the trim horizon.
// The handler must therefore accept records that it has seen before, which Lambda requires, too.
//
// It differs from Lambda where that helps on a developer's machine. It polls more often, and its backoff is shorter.
// It gives up records by their retries alone, not by their age. It writes no dead letters while the stream cannot be
// reached, because then the handler cannot reach the table either.
package pump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ledger.example/internal/retry"
)

// backoff is the pause after failures in a row.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Max: 2 * time.Second, Jitter: retry.Half}

const (
	// listInterval is how often the shards are listed. New shards come when one ends, and then they are listed at
	// once.
	listInterval = 5 * time.Second
	// outageInterval is how often an outage of the stream is logged while it lasts.
	outageInterval = 15 * time.Second
)

// ErrStreamEnded means that the stream is not there, or was disabled: its table was deleted or made anew. What a
// disabled stream had has been delivered.
var ErrStreamEnded = errors.New("the stream has ended: it was disabled, or its table was deleted or made anew")

// Stream is the part of *dynamodbstreams.Client that a pump calls. Errors that it tells apart:
// ResourceNotFoundException, ExpiredIteratorException and TrimmedDataAccessException.
type Stream interface {
	DescribeStream(
		context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(
		context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(
		context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options),
	) (*dynamodbstreams.GetRecordsOutput, error)
}

// Handler is a Lambda function for a DynamoDB stream. It is called from several goroutines when a stream has
// several shards.
type Handler func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Options say what to pump where. All but Log are needed.
type Options struct {
	Stream      Stream
	StreamARN   string
	Handler     Handler
	Settings    Settings
	DeadLetters string       // path of the dead letter file, which is made for the first dead letter
	Log         *slog.Logger // nil: nothing is logged
}

// Pump feeds one stream to one handler.
type Pump struct {
	options Options
	filter  filter

	mu       sync.Mutex // guards the rest
	shards   map[string]*shard
	complete bool      // no shard is missing from shards
	pending  int       // records that were read and are neither done nor dead letters
	outage   time.Time // when the present outage of the stream began; zero: there is none
	reported time.Time // when the outage was logged last
}

// New returns a pump. It fails if a filter has a shape that is not supported.
func New(o Options) (*Pump, error) {
	f, err := parseFilter(o.Settings.Filters)
	if err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Pump{options: o, filter: f}, nil
}

// Run pumps from the trim horizon until ctx ends. Then it waits for the invocations that are under way, and returns
// nil. Failures of the stream or the handler don't end it; ErrStreamEnded does. One Run at a time.
func (p *Pump) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.reset()

	ends := make(chan *shard)
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			<-ends
		}
	}()
	for failures := 0; ctx.Err() == nil; {
		shards, disabled, err := p.listShards(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrStreamEnded):
			return err
		case err != nil:
			p.streamFailed(err)
		default:
			p.streamAnswered()
			for _, sh := range p.update(shards, disabled) {
				running++
				go func() {
					p.runShard(ctx, sh)
					ends <- sh
				}()
			}
		}
		if disabled && running == 0 {
			return fmt.Errorf("stream %s: %w", p.options.StreamARN, ErrStreamEnded)
		}
		delay := listInterval
		if failures++; p.isComplete() {
			failures = 0
		} else {
			delay = backoff.Delay(failures)
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		case sh := <-ends:
			running--
			p.shardEnded(ctx, sh)
		}
	}
	return nil
}

// reset forgets all positions.
func (p *Pump) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shards, p.complete, p.pending = make(map[string]*shard), false, 0
	p.outage, p.reported = time.Time{}, time.Time{}
}

// CaughtUp reports whether every record that was in the stream at t is done or a dead letter. It is meant to be
// polled with the time right after a write; while records keep coming it may stay false.
//
// A shard counts as read up to t when it answered a request that began at t or later without any record. DynamoDB
// Local does that at the end of a shard only; AWS may do it anywhere, and then CaughtUp is true too early.
func (p *Pump) CaughtUp(t time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending > 0 || !p.complete {
		return false
	}
	for _, sh := range p.shards {
		if sh.state == waiting || sh.state == reading && sh.readTo.Before(t) {
			return false
		}
	}
	return true
}

// addPending counts records that were read, or with a negative n, that are done or dead letters.
func (p *Pump) addPending(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending += n
}

// streamFailed notes a request that the stream did not answer. It logs the beginning of an outage, and then now and
// then.
func (p *Pump) streamFailed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.outage.IsZero() {
		p.outage = now
	}
	if now.Sub(p.reported) >= outageInterval {
		p.reported = now
		p.options.Log.Warn("the stream cannot be read, retrying",
			"stream", p.options.StreamARN, "since", p.outage.UTC(), "error", err)
	}
}

// streamAnswered notes a request that the stream answered, which ends an outage.
func (p *Pump) streamAnswered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outage.IsZero() {
		return
	}
	p.options.Log.Warn("the stream can be read again",
		"stream", p.options.StreamARN, "after_ms", time.Since(p.outage).Milliseconds())
	p.outage, p.reported = time.Time{}, time.Time{}
}
