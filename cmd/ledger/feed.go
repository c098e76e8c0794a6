package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/ledger/wire"
)

const (
	// defaultSetAside is where the pump keeps what the projector cannot take.
	defaultSetAside = ".ledger/set-aside.jsonl"
	// streamPatience is how long a table may be without a stream before it is given up, counted while the store answers: a
	// DynamoDB Local that was restarted in memory is given its table a moment later.
	streamPatience = 20 * time.Second
	// tablePoll is how often it is looked whether there is a table at all.
	tablePoll = 2 * time.Second
	// streamPoll is how often a new stream is looked for.
	streamPoll = 250 * time.Millisecond
)

// errNoTable says why a pump was ended.
var errNoTable = errors.New("what its stream still had is not projected")

// feed brings what is written to a table to the projector, through one stream of the table after the other: a table that is
// made anew has another stream.
type feed struct {
	store   *store
	table   string
	options pump.Options // for the stream that the table has now
	pump    *pump.Pump
}

// feed returns the feed of a table, beginning with the stream that it has now.
func (s *store) feed(table, stream string, projector pump.Handler, setAside string, log *slog.Logger) (*feed, error) {
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		return nil, err
	}
	f := &feed{store: s, table: table, options: pump.Options{
		Stream: s.streams, Handler: projector, Settings: settings, SetAside: setAside, Log: log,
	}}
	return f, f.follow(stream)
}

func (f *feed) follow(stream string) (err error) {
	f.options.StreamARN = stream
	f.pump, err = pump.New(f.options)
	return err
}

// run feeds until ctx ends, which is success, or the table or its stream is gone for good.
func (f *feed) run(ctx context.Context) error {
	for {
		err := f.runPump(ctx)
		if ctx.Err() != nil {
			return nil
		}
		gone := f.options.StreamARN
		if errors.Is(err, errNoTable) {
			gone = "" // the table may come back, stream and all
		}
		next, lookErr := f.nextStream(ctx, gone)
		switch {
		case ctx.Err() != nil:
			return nil
		case lookErr != nil:
			return fmt.Errorf("%w (%w)", lookErr, err)
		}
		f.options.Log.Warn("going on with the stream that the table has now", "table", f.table, "stream", next, "was", f.options.StreamARN)
		if err := f.follow(next); err != nil {
			return err
		}
	}
}

// runPump feeds from one stream until ctx ends or the stream does, or there is no table any more: what the stream still has
// could not be projected then, and would be set aside piece by piece. It returns which of them it was.
func (f *feed) runPump(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(tablePoll):
				if _, err := f.store.stream(ctx, f.table); errors.Is(err, wire.ErrNoTable) {
					end(errNoTable)
				}
			}
		}
	})
	if err := f.pump.Run(ctx); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// nextStream returns the stream that the table has in the place of the one that is gone. It waits for a store that does not
// answer, and not long for a table or a stream that is missing in one that does.
func (f *feed) nextStream(ctx context.Context, gone string) (string, error) {
	var schema *wire.SchemaError
	giveUp := time.Now().Add(streamPatience)
	for {
		next, err := f.store.stream(ctx, f.table)
		switch {
		case err == nil && next != gone:
			return next, nil
		case err == nil:
			err = fmt.Errorf("table %s has no other stream", f.table)
		case !errors.Is(err, wire.ErrNoTable) && !errors.As(err, &schema): // the store doesn't answer
			giveUp = time.Now().Add(streamPatience)
		}
		if time.Now().After(giveUp) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(streamPoll):
		}
	}
}
