package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"ledger.example/client"
	"ledger.example/internal/forward"
)

// The limits of a request (EventBridge API Reference, PutEvents). Since January 2026 AWS takes 1 MB in most Regions. An
// event of the ledger is far below 256 KB, which every Region takes.
const (
	requestEntries = 10
	requestBytes   = 256 << 10
	timeBytes      = 14 // that count for the time of an entry
	requestTimeout = 10 * time.Second
)

// bus is an EventBridge bus.
type bus struct {
	client interface {
		PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (
			*eventbridge.PutEventsOutput, error)
	}
	name, source string
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

// deliver is a forward.Target. It sends the events in requests of as many as fit, one after another.
func (b bus) deliver(ctx context.Context, all []client.JournalEntry) (delivered int, err error) {
	var request []types.PutEventsRequestEntry
	size := 0
	for _, e := range all {
		one, bytes, err := b.entry(e)
		if err != nil {
			return delivered, err
		}
		if len(request) == requestEntries || len(request) > 0 && size+bytes > requestBytes {
			n, err := b.put(ctx, request)
			if delivered += n; n < len(request) {
				return delivered, err
			}
			request, size = nil, 0
		}
		request, size = append(request, one), size+bytes
	}
	n, err := b.put(ctx, request)
	return delivered + n, err
}

// put sends a request, and returns how many of its first entries the bus took. It may also have taken later ones. After
// the end of ctx it sends nothing, and returns no error.
func (b bus) put(ctx context.Context, entries []types.PutEventsRequestEntry) (taken int, err error) {
	if ctx.Err() != nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return 0, fmt.Errorf("put events: %w", err)
	}
	for _, result := range out.Entries {
		if result.ErrorCode != nil || result.EventId == nil {
			return taken, fmt.Errorf("the bus %s refused an event: %s: %s", b.name, aws.ToString(result.ErrorCode),
				aws.ToString(result.ErrorMessage))
		}
		taken++
	}
	if taken < len(entries) {
		return taken, fmt.Errorf("the bus %s answered for %d of %d events", b.name, taken, len(entries))
	}
	return taken, nil
}

// entry returns an event as the bus takes it, and its size there.
func (b bus) entry(e client.JournalEntry) (one types.PutEventsRequestEntry, bytes int, err error) {
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
