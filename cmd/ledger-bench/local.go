package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/cmd/ledger-bench/bench"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/local/stack"
)

// local opens the store, creates the tables, and configures c to run a ledger in this process. The caller must
// call stop, which deletes the second table and stops the store.
func (p *program) local(ctx context.Context, c *bench.Config) (stop func() error, err error) {
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelError})) // retries are counted
	s, err := stack.Open(ctx, stack.Options{Memory: p.memory, Endpoint: p.endpoint, Log: log})
	if err != nil {
		return nil, err
	}
	twin := p.table + "-ceiling-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	aside, err := os.MkdirTemp("", "ledger-bench-")
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	stop = func() (err error) {
		if p.endpoint != "" { // that store keeps running
			deleting, cancel := context.WithTimeout(context.WithoutCancel(ctx), stack.StopTimeout)
			defer cancel()
			_, err = s.Tables.DeleteTable(deleting, &dynamodb.DeleteTableInput{TableName: &twin})
		}
		return errors.Join(err, s.Stop(), os.RemoveAll(aside))
	}
	// The twin is created first: when a second table is created, DynamoDB Local may report that the records of an empty
	// stream were trimmed.
	if _, err := s.CreateTable(ctx, twin); err != nil {
		return nil, errors.Join(err, stop())
	}
	stream, err := s.CreateTable(ctx, p.table)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	settings, _, err := dynamolocal.StreamSettings()
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	c.Ledger, c.Window = p.place(), settings.Window
	c.Local = &bench.Local{
		Client: s.Client, Table: p.table, Twin: twin, Watch: s.Watch, IsCold: s.IsStarted(),
		Log:   log,
		Serve: func(handler http.Handler) (string, func() error, error) { return serve(handler, log) },
	}
	if !p.noPump {
		c.Local.Project = func(ctx context.Context, projector, lister pump.Handler) error {
			f, err := s.Feed(p.table, stream, projector, lister,
				filepath.Join(aside, "dead-letters.jsonl"), log)
			if err != nil {
				return err
			}
			return f.Run(ctx)
		}
	}
	return stop, nil
}

// place describes where the ledger runs.
func (p *program) place() string {
	switch {
	case p.memory:
		return "in this process, on the built-in store"
	case p.endpoint != "":
		return "in this process, on DynamoDB at " + p.endpoint
	}
	return "in this process, on DynamoDB Local"
}

// serve serves a handler on a free port, in the same way as `ledger up`, until stop is called.
func serve(handler http.Handler, log *slog.Logger) (address string, stop func() error, err error) {
	listener, err := stack.Listen("127.0.0.1", 0)
	if err != nil {
		return "", nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	var serving errgroup.Group
	serving.Go(func() error { return stack.Serve(ctx, "the API", listener, handler, log) })
	return "http://" + listener.Addr().String(), func() error {
		end()
		return serving.Wait()
	}, nil
}
