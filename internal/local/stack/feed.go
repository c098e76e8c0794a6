package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
)

const (
	// streamTimeout is how long the feed waits for a missing table or stream while the store answers. After a restart
	// of an in-memory DynamoDB Local, the table is created a moment later.
	streamTimeout = 20 * time.Second
	// tablePoll is how often the feed checks that the table exists.
	tablePoll = 2 * time.Second
	// streamPoll is how often the feed checks for a new stream.
	streamPoll = 250 * time.Millisecond
)

// errTableGone is the reason for stopping a pump.
var errTableGone = errors.New("the table does not exist: the remaining records of its stream were not projected")

// Feed passes the stream of a table to the projector and to the lister. They have separate positions, so that neither
// delays the other.
type Feed []*consumer

// consumer passes the stream of the table to one function. If the table is recreated, it continues with the new stream.
type consumer struct {
	store   *Store
	table   string
	options pump.Options // for the current stream
	pump    *pump.Pump
}

// Feed returns the feed of a table, starting with its current stream. The dead letters of both functions are in one
// file.
func (s *Store) Feed(
	table, stream string, projector, lister pump.Handler, deadLetters string, log *slog.Logger,
) (Feed, error) {
	toProjector, toLister, err := dynamolocal.StreamSettings()
	if err != nil {
		return nil, err
	}
	options := func(handler pump.Handler, settings pump.Settings, name string) pump.Options {
		return pump.Options{
			Stream: s.streams, Handler: handler, Settings: settings, DeadLetters: deadLetters,
			Log: log.With("function", name),
		}
	}
	f := Feed{
		{store: s, table: table, options: options(projector, toProjector, "projector")},
		{store: s, table: table, options: options(lister, toLister, "lister")},
	}
	for _, c := range f {
		if err := c.setStream(stream); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Run feeds until ctx ends, and then returns nil. It returns an error if the table or its stream no longer exists.
func (f Feed) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, c := range f {
		running.Go(func() error { return c.run(ctx) })
	}
	return running.Wait()
}

// setStream makes a pump for a stream.
func (c *consumer) setStream(stream string) (err error) {
	c.options.StreamARN = stream
	c.pump, err = pump.New(c.options)
	return err
}

// run is Feed.Run for one function.
func (c *consumer) run(ctx context.Context) error {
	for {
		err := c.runPump(ctx)
		if ctx.Err() != nil {
			return nil
		}
		gone := c.options.StreamARN
		if errors.Is(err, errTableGone) {
			gone = "" // the table may come back with the same stream
		}
		next, nextErr := c.nextStream(ctx, gone)
		switch {
		case ctx.Err() != nil:
			return nil
		case nextErr != nil:
			return fmt.Errorf("%w (%w)", nextErr, err)
		}
		c.options.Log.Warn("continuing with the table's new stream", "table", c.table, "stream", next, "was",
			c.options.StreamARN)
		if err := c.setStream(next); err != nil {
			return err
		}
	}
}

// runPump feeds from one stream. It returns the reason for its end: ctx or the stream ended, or the table no longer
// exists. Without the table the remaining records cannot be projected, and would become dead letters one by one.
func (c *consumer) runPump(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() {
		for retry.Sleep(ctx, tablePoll) == nil {
			if _, err := c.store.Stream(ctx, c.table); errors.Is(err, table.ErrNoTable) {
				end(errTableGone)
			}
		}
	})
	if err := c.pump.Run(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// nextStream returns a stream of the table other than gone. It waits without limit for a store that does not answer,
// and streamTimeout for a missing table or stream.
func (c *consumer) nextStream(ctx context.Context, gone string) (string, error) {
	var schema *table.SchemaError
	giveUp := time.Now().Add(streamTimeout)
	for {
		next, err := c.store.Stream(ctx, c.table)
		switch {
		case err == nil && next != gone:
			return next, nil
		case err == nil:
			err = fmt.Errorf("table %s has no new stream", c.table)
		case !errors.Is(err, table.ErrNoTable) && !errors.As(err, &schema): // the store doesn't answer
			giveUp = time.Now().Add(streamTimeout)
		}
		if time.Now().After(giveUp) {
			return "", err
		}
		if err := retry.Sleep(ctx, streamPoll); err != nil {
			return "", err
		}
	}
}
