package bench

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/cmd/ledger/meter"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
)

// Local is what a ledger in this process is made of. The functions belong to whoever runs the ledger for good, so that what is
// measured is what is used.
type Local struct {
	// Client returns another client of the store.
	Client func(optFns ...func(*dynamodb.Options)) *dynamodb.Client
	Table  string
	// Twin is a table like the other, with nothing in it, for the ceiling that writes without us.
	Twin string
	// Serve serves on a port of the loopback interface until stop, which waits for requests under way.
	Serve func(handler http.Handler) (url string, stop func() error, err error)
	// Project feeds the table's stream to a projector until ctx ends; nil: nothing is projected.
	Project func(ctx context.Context, projector pump.Handler) error
	// Watch returns when ctx ends, or with an error when the store ends before that.
	Watch   func(ctx context.Context) error
	IsCold  bool // the store is a DynamoDB Local that was just started
	Version string
	Log     *slog.Logger
}

// inside is the ledger in this process, under way: an API and a projector with a client each, so that their requests can be
// told apart, and another API for what looks on, which is counted nowhere.
type inside struct {
	Local
	command, projection *meter.Meter
	store               *dynamodb.Client // counted nowhere
	captured            *capture         // what command writes
	url, lookURL        string

	stops      []func() error
	projecting chan error // nil: nothing does
}

// open starts the ledger. stop must be called also when it fails.
func (l Local) open(ctx context.Context) (*inside, error) {
	i := &inside{Local: l, command: meter.New(l.Table), captured: new(capture), store: l.Client()}
	i.projection = i.command.Beside()
	part := func(optFns ...func(*dynamodb.Options)) (*service.Service, error) {
		return service.New(service.Config{
			Client: l.Client(optFns...), Table: l.Table, Actor: api.LocalActor, Version: l.Version, Log: l.Log,
		})
	}
	load, err := part(i.command.Count, i.captured.keep)
	if err != nil {
		return i, err
	}
	look, err := part()
	if err != nil {
		return i, err
	}
	if i.url, err = i.serve(load.API()); err != nil {
		return i, err
	}
	if i.lookURL, err = i.serve(look.API()); err != nil {
		return i, err
	}
	if l.Project == nil {
		return i, nil
	}
	projector, err := part(i.projection.Count)
	if err != nil {
		return i, err
	}
	// It goes on when ctx ends: what was posted is still to be projected then, and looked at.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	i.projecting = make(chan error, 1)
	go func() { i.projecting <- l.Project(ctx, projector.Stream()) }()
	i.stops = append(i.stops, func() error { end(); return <-i.projecting })
	return i, nil
}

func (i *inside) serve(handler http.Handler) (string, error) {
	url, stop, err := i.Serve(handler)
	if err == nil {
		i.stops = append(i.stops, stop)
	}
	return url, err
}

// stop ends all of it, in the order in which it was started: no more requests, then no projector.
func (i *inside) stop() error {
	var errs []error
	for _, stop := range i.stops {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
