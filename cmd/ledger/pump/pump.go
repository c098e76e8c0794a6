package pump

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const (
	// discoverInterval is how often new shards are looked for. It matters
	// little: they come when one ends, and then they are looked for at once.
	discoverInterval = 5 * time.Second
	// minBackoff and maxBackoff bound the pause after a failure, which doubles
	// from one to the other while failures go on.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
)

var (
	// ErrStreamNotFound says that the stream is not there: its table was
	// deleted, or made anew with another stream.
	ErrStreamNotFound = errors.New("there is no such stream: its table was deleted or made anew")
	// ErrStreamDisabled says that the stream was switched off, or its table
	// deleted a moment ago; what it had has been delivered.
	ErrStreamDisabled = errors.New("the stream was switched off or its table deleted; all that was in it has been delivered")
)

// Stream is what is asked of DynamoDB Streams; *dynamodbstreams.Client is one.
// The errors that matter are the service's: ResourceNotFoundException,
// ExpiredIteratorException and TrimmedDataAccessException.
type Stream interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Handler is a Lambda function for a DynamoDB stream. It is called from several
// goroutines when shards are read side by side.
type Handler func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Options say what to pump where.
type Options struct {
	Stream    Stream
	StreamARN string
	Handler   Handler
	Settings  Settings
	// SetAside is the file that records are appended to which the handler
	// cannot take. It is made when there is the first one.
	SetAside string
	// Log tells what happens; nil tells nothing.
	Log *slog.Logger
}

// Pump feeds one stream to one handler.
type Pump struct {
	stream   Stream
	arn      string
	handler  Handler
	settings Settings
	filter   filter
	aside    *asideFile
	log      *slog.Logger

	mu     sync.Mutex // guards the rest
	shards map[string]*shard
	// settled is false while there may be shards that we haven't heard of.
	settled bool
	stats   Stats
	outage  outage
	// ageFrom is when the present Run began, or its last outage ended.
	ageFrom time.Time
}

// New makes a pump. It fails when the settings are not ones that Lambda would
// take, or a filter is one that this package doesn't know.
func New(o Options) (*Pump, error) {
	if o.Stream == nil || o.StreamARN == "" || o.Handler == nil || o.SetAside == "" {
		return nil, errors.New("pump: Stream, StreamARN, Handler and SetAside are needed")
	}
	if err := o.Settings.validate(); err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	f, err := parseFilter(o.Settings.Filters)
	if err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Pump{
		stream:   o.Stream,
		arn:      o.StreamARN,
		handler:  o.Handler,
		settings: o.Settings,
		filter:   f,
		aside:    &asideFile{path: o.SetAside},
		log:      log,
		shards:   make(map[string]*shard),
	}, nil
}

// shardState is how far a shard has come.
type shardState int

const (
	waiting shardState = iota // for its parent to end
	reading
	ended // read to its end, and all of it delivered or set aside
)

type shard struct {
	id     string
	parent string // "" for none
	state  shardState
	// readTo is a time up to which all records have been read.
	readTo time.Time
}

// Run pumps from the trim horizon until ctx ends; then it finishes the batches
// that the handler has, and returns nil. Failures of the stream or the handler
// don't end it, but ErrStreamNotFound and ErrStreamDisabled do. One Run at a
// time.
func (p *Pump) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.reset()

	ends := make(chan *shard)
	running := 0
	var failed error
	for failures := 0; failed == nil && ctx.Err() == nil; {
		settled, disabled := false, false
		shards, status, err := p.describe(ctx)
		switch {
		case ctx.Err() != nil:
			continue
		case errors.Is(err, ErrStreamNotFound):
			failed = err
			continue
		case err != nil:
			p.failed(err)
		default:
			p.answered()
			var starting []*shard
			starting, settled = p.update(shards, status)
			for _, sh := range starting {
				p.log.Debug("reading shard", "shard", sh.id, "parent", sh.parent)
				running++
				go func() {
					p.runShard(ctx, sh)
					ends <- sh
				}()
			}
			disabled = status == types.StreamStatusDisabled
		}
		if disabled && running == 0 {
			failed = fmt.Errorf("stream %s: %w", p.arn, ErrStreamDisabled)
			continue
		}
		pause := discoverInterval
		if settled {
			failures = 0
		} else {
			pause = backoff(failures)
			failures++
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case sh := <-ends:
			running--
			p.end(ctx, sh)
		}
	}
	cancel()
	for ; running > 0; running-- {
		<-ends
	}
	return failed
}

// reset forgets all positions.
func (p *Pump) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.shards)
	p.settled = false
	p.stats.Pending = 0
	p.outage = outage{}
	p.ageFrom = time.Now()
}

// end notes that a shard has been read and delivered to its end, unless it was
// left because ctx ended.
func (p *Pump) end(ctx context.Context, sh *shard) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sh.state = ended
	p.settled = false // its children may be new
	p.log.Debug("shard ended", "shard", sh.id)
}

// describe lists all shards of the stream. The error is ErrStreamNotFound when
// there is no stream.
func (p *Pump) describe(ctx context.Context) ([]types.Shard, types.StreamStatus, error) {
	var shards []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &p.arn}
	for {
		out, err := p.stream.DescribeStream(ctx, in)
		if err != nil {
			if isNotFound(err) {
				return nil, "", fmt.Errorf("stream %s: %w", p.arn, ErrStreamNotFound)
			}
			return nil, "", err
		}
		shards = append(shards, out.StreamDescription.Shards...)
		if out.StreamDescription.LastEvaluatedShardId == nil {
			return shards, out.StreamDescription.StreamStatus, nil
		}
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
	}
}

func isNotFound(err error) bool {
	var notFound *types.ResourceNotFoundException
	return errors.As(err, &notFound)
}

// update takes in a listing, and returns the shards that may be read now: those
// whose parent has ended, or is gone. It tells whether all shards are known:
// the children of an ended shard may take a moment to appear.
func (p *Pump) update(listing []types.Shard, status types.StreamStatus) (starting []*shard, settled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	listed := make(map[string]bool)
	parents := make(map[string]bool)
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
	settled = len(listing) > 0
	for _, sh := range p.shards {
		switch parent := p.shards[sh.parent]; {
		case sh.state == ended && !parents[sh.id] && status != types.StreamStatusDisabled:
			settled = false
		case sh.state == waiting && (parent == nil || parent.state == ended):
			sh.state = reading
			starting = append(starting, sh)
		}
	}
	p.settled = settled
	return starting, settled
}

// backoff is a random pause after a number of failures in a row: at least half
// of what that number asks for, so that it is a pause.
func backoff(failures int) time.Duration {
	d := maxBackoff
	if failures < 10 {
		d = min(minBackoff<<failures, maxBackoff)
	}
	return d/2 + rand.N(d/2)
}

// pause waits, and tells whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
