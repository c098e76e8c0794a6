package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/retry"
)

const (
	// streamTimeout is how long a table may be without a stream before the feed ends, counted while the store answers:
	// a DynamoDB Local that was restarted in memory gets its table a moment later.
	streamTimeout = 20 * time.Second
	// tablePoll is how often the feed checks that the table is there.
	tablePoll = 2 * time.Second
	// streamPoll is how often the feed looks for a new stream.
	streamPoll = 250 * time.Millisecond
)

// errNoTable says why a pump was ended.
var errNoTable = errors.New("what its stream still had is not projected")

// Feed brings what is written to a table to the projector and to the lister. Each has its own position, so that neither
// holds up the other.
type Feed []*consumer

// consumer feeds one function through one stream of the table after the other: a table that is made anew has another
// stream.
type consumer struct {
	store   *Store
	table   string
	options pump.Options // for the stream that the table has now
	pump    *pump.Pump
}

// Feed returns the feed of a table, beginning with the stream that it has now. Both functions' dead letters are in one
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
		if err := c.follow(stream); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Run feeds until ctx ends, which is success, or the table or its stream is gone for good.
func (f Feed) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, c := range f {
		running.Go(func() error { return c.run(ctx) })
	}
	return running.Wait()
}

func (c *consumer) follow(stream string) (err error) {
	c.options.StreamARN = stream
	c.pump, err = pump.New(c.options)
	return err
}

// run feeds until ctx ends, which is success, or the table or its stream is gone for good.
func (c *consumer) run(ctx context.Context) error {
	for {
		err := c.runPump(ctx)
		if ctx.Err() != nil {
			return nil
		}
		gone := c.options.StreamARN
		if errors.Is(err, errNoTable) {
			gone = "" // the table may come back, stream and all
		}
		next, lookErr := c.nextStream(ctx, gone)
		switch {
		case ctx.Err() != nil:
			return nil
		case lookErr != nil:
			return fmt.Errorf("%w (%w)", lookErr, err)
		}
		c.options.Log.Warn("going on with the stream that the table has now", "table", c.table, "stream", next, "was",
			c.options.StreamARN)
		if err := c.follow(next); err != nil {
			return err
		}
	}
}

// runPump feeds from one stream until ctx ends or the stream does, or there is no table any more: what the stream still
// has could not be projected then, and would become dead letters one by one. It returns which of them it was.
func (c *consumer) runPump(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() {
		for retry.Sleep(ctx, tablePoll) == nil {
			if _, err := c.store.Stream(ctx, c.table); errors.Is(err, ddb.ErrNoTable) {
				end(errNoTable)
			}
		}
	})
	if err := c.pump.Run(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// nextStream returns the stream that the table has in the place of the one that is gone. It waits for a store that does
// not answer, and not long for a table or a stream that is missing in one that does.
func (c *consumer) nextStream(ctx context.Context, gone string) (string, error) {
	var schema *ddb.SchemaError
	giveUp := time.Now().Add(streamTimeout)
	for {
		next, err := c.store.Stream(ctx, c.table)
		switch {
		case err == nil && next != gone:
			return next, nil
		case err == nil:
			err = fmt.Errorf("table %s has no other stream", c.table)
		case !errors.Is(err, ddb.ErrNoTable) && !errors.As(err, &schema): // the store doesn't answer
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
