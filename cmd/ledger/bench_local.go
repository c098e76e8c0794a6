package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/bench"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
)

// benchedLedger is what a ledger in this process is made of.
type benchedLedger struct {
	bench.Local
	place  string // for people
	window time.Duration
	stop   func() error
}

// benchLocal finds the store, and makes the tables.
func (c *cli) benchLocal(ctx context.Context, o benchOptions) (_ *benchedLedger, err error) {
	s, err := c.storeFor(ctx, upOptions{memory: o.memory, endpoint: o.endpoint})
	if err != nil {
		return nil, err
	}
	twin := o.table + "-ceiling-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	aside, err := os.MkdirTemp("", "ledger-bench-")
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	stop := func() (err error) {
		if o.endpoint != "" { // the store goes on
			deleting, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeStopTimeout)
			defer cancel()
			_, err = s.tables.DeleteTable(deleting, &dynamodb.DeleteTableInput{TableName: &twin})
		}
		return errors.Join(err, s.stop(), os.RemoveAll(aside))
	}
	// The twin first: DynamoDB Local may say of a stream that has no records yet that they were trimmed, once another was made.
	if _, err := s.createTable(ctx, twin); err != nil {
		return nil, errors.Join(err, stop())
	}
	stream, err := s.createTable(ctx, o.table)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	log := c.logger(slog.LevelError) // what is asked again is counted
	made := &benchedLedger{
		Local: bench.Local{
			Client: s.another, Table: o.table, Twin: twin, Watch: s.watch, IsCold: s.server != nil, Version: version(), Log: log,
			Serve: func(handler http.Handler) (string, func() error, error) { return serve(handler, log) },
		},
		place: benchPlace(o, s), window: settings.Window, stop: stop,
	}
	if !o.noPump {
		made.Project = func(ctx context.Context, projector pump.Handler) error {
			f, err := s.feed(o.table, stream, projector, filepath.Join(aside, filepath.Base(defaultSetAside)), log)
			if err != nil {
				return err
			}
			return f.run(ctx)
		}
	}
	return made, nil
}

func benchPlace(o benchOptions, s *store) string {
	switch {
	case o.memory:
		return "in this process, on its memory"
	case o.endpoint != "":
		return "in this process, on DynamoDB at " + o.endpoint
	}
	return "in this process, on DynamoDB Local"
}

// serve serves as up does, on any free port, until stop is called.
func serve(handler http.Handler, log *slog.Logger) (address string, stop func() error, err error) {
	listener, err := listen(0)
	if err != nil {
		return "", nil, err
	}
	server := newServer(handler, log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() error {
		err := shutDown(server)
		if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("the API: %w", end))
		}
		return err
	}, nil
}
