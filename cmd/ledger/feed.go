package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

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
	streamPatience = 10 * time.Second
	// streamPoll is how often a new stream is looked for.
	streamPoll = 250 * time.Millisecond
)

// feed brings what is written to a table to the projector, through one stream of the table after the other: a table that is
// made anew has another stream.
type feed struct {
	store   *store
	table   string
	options pump.Options // for the stream that the table has now
	pump    *pump.Pump
}

// feed returns the feed of a table. The error says so when there is no table, or it is not the ledger's.
func (s *store) feed(ctx context.Context, table string, projector pump.Handler, setAside string, log *slog.Logger) (*feed, error) {
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		return nil, err
	}
	arn, err := s.streamARN(ctx, table)
	if err != nil {
		return nil, err
	}
	f := &feed{store: s, table: table, options: pump.Options{
		Stream: local.Streams(s.endpoint), Handler: projector, Settings: settings, SetAside: setAside, Log: log,
	}}
	return f, f.follow(arn)
}

func (f *feed) follow(arn string) (err error) {
	f.options.StreamARN = arn
	f.pump, err = pump.New(f.options)
	return err
}

// run feeds until ctx ends, which is success, or the table or its stream is gone for good.
func (f *feed) run(ctx context.Context) error {
	for {
		err := f.pump.Run(ctx)
		if !errors.Is(err, pump.ErrStreamNotFound) && !errors.Is(err, pump.ErrStreamDisabled) {
			return err
		}
		arn, lookErr := f.nextStream(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case lookErr != nil:
			return fmt.Errorf("%w (%w)", err, lookErr)
		}
		f.options.Log.Warn("the table was made anew, going on with its new stream", "table", f.table, "stream", arn, "was", f.options.StreamARN)
		if err := f.follow(arn); err != nil {
			return err
		}
	}
}

// nextStream returns the stream that the table has in the place of the one that is gone. It waits for a store that does not
// answer, and not long for a table or a stream that is missing in one that does.
func (f *feed) nextStream(ctx context.Context) (string, error) {
	var schema *wire.SchemaError
	giveUp := time.Now().Add(streamPatience)
	for {
		arn, err := f.store.streamARN(ctx, f.table)
		switch {
		case err == nil && arn != f.options.StreamARN:
			return arn, nil
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

// streamARN names the stream that a table of the store has now. Errors: wire.ErrNoTable, *wire.SchemaError, or why the store
// did not answer.
func (s *store) streamARN(ctx context.Context, table string) (string, error) {
	described, err := wire.CheckTable(ctx, local.DynamoDB(s.endpoint), table)
	if err != nil {
		return "", err
	}
	return aws.ToString(described.LatestStreamArn), nil
}
