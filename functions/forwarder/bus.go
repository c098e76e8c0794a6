package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/forward"
)

// The limits of a request (EventBridge API Reference, PutEvents). Since January 2026 AWS takes 1 MB in most Regions. An
// event of the ledger is far below 256 KB, which every Region takes.
const (
	requestEntries = 10
	requestBytes   = 256 << 10
	timeBytes      = 14 // that count for the time of an entry
	requestsAtOnce = 10 // those of a page
	requestTimeout = 10 * time.Second
	askTimeout     = 3 * time.Second
)

// bus is an EventBridge bus. One run uses it at a time.
type bus struct {
	client interface {
		DescribeEventBus(context.Context, *eventbridge.DescribeEventBusInput, ...func(*eventbridge.Options)) (
			*eventbridge.DescribeEventBusOutput, error)
		PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (
			*eventbridge.PutEventsOutput, error)
	}
	name, source string
	existed      bool // when it was last asked for
}

// detail is the event as a CloudEvent.
type detail struct {
	Version string          `json:"specversion"`
	ID      string          `json:"id"` // the same in every delivery
	Source  string          `json:"source"`
	Type    string          `json:"type"`
	Time    string          `json:"time"`
	Data    json.RawMessage `json:"data"` // the entry of the journal
}

// deliver is a forward.Target. It sends events only to a bus that exists, and counts as taken only what was sent while
// it existed: AWS answers PutEvents for a bus that does not exist as if it had taken the events. Therefore it asks for
// the bus after the events, and before them unless the last answer was that the bus exists.
func (b *bus) deliver(ctx context.Context, all []client.JournalEntry) (taken []bool, err error) {
	if !b.existed {
		if err := b.ask(ctx); err != nil {
			return nil, err
		}
	}
	if taken, err = b.send(ctx, all); !slices.Contains(taken, true) {
		return taken, err
	}
	if missing := b.ask(ctx); missing != nil {
		return nil, errors.Join(missing, err)
	}
	return taken, err
}

// ask returns an error unless the bus exists. It also asks after the end of ctx.
func (b *bus) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	_, err := b.client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &b.name})
	b.existed = err == nil
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fmt.Errorf("the bus %s does not exist: %w", b.name, err)
	}
	if err != nil {
		return fmt.Errorf("ask for the bus %s: %w", b.name, err)
	}
	return nil
}

// send sends the events in requests of as many as fit, side by side. It sends none from the first event on that cannot
// be encoded. A request that fails leaves a gap, which the forwarder's cursor does not pass.
func (b *bus) send(ctx context.Context, all []client.JournalEntry) (taken []bool, err error) {
	var requests [][]types.PutEventsRequestEntry
	size := 0
	for _, e := range all {
		one, bytes, failed := b.entry(e)
		if err = failed; err != nil {
			break
		}
		last := len(requests) - 1
		if last < 0 || len(requests[last]) == requestEntries || size+bytes > requestBytes {
			requests, size = append(requests, nil), 0
			last++
		}
		requests[last], size = append(requests[last], one), size+bytes
	}
	results, errs := make([][]bool, len(requests)), make([]error, len(requests))
	var sending errgroup.Group
	sending.SetLimit(requestsAtOnce)
	for i, request := range requests {
		sending.Go(func() error {
			results[i], errs[i] = b.put(ctx, request)
			return nil
		})
	}
	_ = sending.Wait() // errs has the errors
	for i, request := range requests {
		taken = append(taken, results[i]...)
		taken = append(taken, make([]bool, len(request)-len(results[i]))...)
	}
	return taken, cmp.Or(errors.Join(errs...), err)
}

// put sends a request, and returns which of its entries the bus took. After the end of ctx it sends nothing, and
// returns no error.
func (b *bus) put(ctx context.Context, entries []types.PutEventsRequestEntry) (taken []bool, err error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return nil, fmt.Errorf("put events: %w", err)
	}
	if len(out.Entries) != len(entries) {
		return nil, fmt.Errorf("the bus %s answered for %d of %d events", b.name, len(out.Entries), len(entries))
	}
	taken = make([]bool, len(entries))
	for i, result := range out.Entries {
		taken[i] = result.ErrorCode == nil && result.EventId != nil
		if !taken[i] && err == nil {
			err = fmt.Errorf("the bus %s refused an event: %s: %s", b.name, aws.ToString(result.ErrorCode),
				aws.ToString(result.ErrorMessage))
		}
	}
	return taken, err
}

// entry returns an event as the bus takes it, and its size there.
func (b *bus) entry(e client.JournalEntry) (one types.PutEventsRequestEntry, bytes int, err error) {
	data, err := forward.Body(e)
	if err != nil {
		return one, 0, err
	}
	text, err := json.Marshal(detail{"1.0", forward.ID(e), b.source, e.Type, e.At, data})
	if err != nil {
		return one, 0, err
	}
	at, err := time.Parse(time.RFC3339, e.At)
	return types.PutEventsRequestEntry{
		EventBusName: &b.name, Source: &b.source, DetailType: &e.Type, Detail: aws.String(string(text)), Time: &at,
	}, len(text) + len(b.source) + len(e.Type) + timeBytes, err
}
