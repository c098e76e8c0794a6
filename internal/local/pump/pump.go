// Package pump replaces Lambda's event source mapping for a DynamoDB stream. Neither DynamoDB Local nor `sam local` has
// one.
//
// A Pump reads the shards of a stream, each after its parent. It passes the records that match the filters to the
// handler that Lambda runs, in batches and in order. It follows Lambda's rules for failures (see delivery.deliver):
// bisecting, retries, and a dead-letter file. It does not store its position: each start begins at the trim horizon.
// The handler must therefore accept records that it has seen before, which Lambda requires, too.
//
// It differs from Lambda where that helps on a developer's machine. It polls more often, and its backoff is shorter. It
// discards records by their retries only, not by their age. It writes no dead letters while the stream cannot be
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

// backoff is the pause after successive failures.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Max: 2 * time.Second, Jitter: retry.Half}

const (
	// listInterval is how often the shards are listed. The end of a shard, which creates new ones, also lists them.
	listInterval = 5 * time.Second
	// outageInterval is how often an outage of the stream is logged while it lasts.
	outageInterval = 15 * time.Second
)

// ErrStreamEnded means that the stream does not exist, or was disabled. The records of a disabled stream have been
// delivered.
var ErrStreamEnded = errors.New("the stream has ended: it was disabled, or its table was deleted or recreated")

// Stream is the part of *dynamodbstreams.Client that a pump calls. The pump distinguishes the errors
// ResourceNotFoundException, ExpiredIteratorException and TrimmedDataAccessException from others, which it retries.
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

// Handler is a Lambda function for a DynamoDB stream. Shards call it concurrently.
type Handler func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Options of a pump. All but Log are required.
type Options struct {
	Stream      Stream
	StreamARN   string
	Handler     Handler
	Settings    Settings
	DeadLetters string       // path of the dead letter file, which the first dead letter creates
	Log         *slog.Logger // nil: nothing is logged
}

// Pump feeds one stream to one handler.
type Pump struct {
	options Options
	filter  filter

	mu       sync.Mutex // guards the rest
	shards   map[string]*shard
	complete bool      // shards has all shards of the stream
	pending  int       // records that were read and are neither done nor dead letters
	outage   time.Time // when the current outage of the stream began; zero: none
	reported time.Time // when the outage was last logged
}

// New returns a pump. It fails if a filter has an unsupported form.
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

// Run pumps from the trim horizon until ctx ends. It then waits for in-flight invocations and returns nil. It retries
// failures of the stream and of the handler. Its only error is ErrStreamEnded. It must not run concurrently with
// itself.
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

// CaughtUp reports whether every record that was in the stream at t is done or a dead letter. Poll it with the time
// right after a write. During continuous writes it may stay false.
//
// A shard counts as read up to t if a request that began at t or later returned no records. DynamoDB Local returns none
// only at the end of a shard. AWS may return none anywhere, and then CaughtUp is true too early.
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

// addPending adds n records that were read or, if n is negative, subtracts records that are done or dead letters.
func (p *Pump) addPending(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending += n
}

// streamFailed records a failed request. It logs the beginning of an outage, and then the outage every outageInterval.
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

// streamAnswered records a successful request, which ends an outage.
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
