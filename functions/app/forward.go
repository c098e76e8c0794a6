package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/client"
	"ledger.example/functions/api"
	"ledger.example/internal/forward"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// forwardTime is how long a run of the forwarder begins deliveries. The last one, and storing how far it got, fit into
// the minute of the function.
const forwardTime = 40 * time.Second

// Forwarding is the invocation of the forwarder. That of the schedule has no Rewind.
type Forwarding struct {
	// Rewind is a time from which on events are delivered again, also those that were delivered. A new cursor begins
	// there.
	Rewind time.Time `json:"rewind"`
}

// UnmarshalJSON implements json.Unmarshaler: see readScheduled.
func (f *Forwarding) UnmarshalJSON(payload []byte) error {
	type plain Forwarding
	return readScheduled(payload, (*plain)(f))
}

// Forwarded is the result of one run.
type Forwarded struct {
	Delivered int `json:"delivered"`
}

// forwardTries is the number of rounds in a row without a move of the cursor after which a run ends. It goes on after a
// failure, because the next run does not know what the target took behind the cursor, and sends it again.
const forwardTries = 3

var forwardBackoff = retry.Backoff{First: 200 * time.Millisecond, Max: 2 * time.Second, Jitter: retry.Half}

// errEnough ends a run that did all it could.
var errEnough = errors.New("enough")

// Forward returns the Lambda function that a schedule invokes. It delivers the journal to a target, from the cursor
// that the table has for it. It logs the age of the oldest event that is not delivered, ForwardingLag. If another run
// moves the cursor, it ends without an error.
func (s *Service) Forward(target string, deliver forward.Target) func(context.Context, Forwarding) (Forwarded, error) {
	return func(ctx context.Context, in Forwarding) (all Forwarded, err error) {
		begins, end := context.WithTimeout(ctx, forwardTime)
		defer end()
		f := forward.Forwarder{
			Read: s.journalPages(), Log: s.config.Log,
			Deliver: func(_ context.Context, all []client.JournalEntry) ([]bool, error) { return deliver(begins, all) },
			Keep:    forward.NewItem(table.NewTable(s.config.Client, s.config.Table), target),
		}
		if err = rewind(ctx, f.Keep, in.Rewind); err != nil {
			return all, err
		}
		lag, stuck := time.Duration(0), 0
		err = f.Run(ctx, func(ctx context.Context, r forward.Round) error {
			all.Delivered += r.Delivered
			lag = r.Lag
			if stuck++; r.More {
				stuck = 0
			}
			switch isOver := begins.Err() != nil; {
			case r.Err == nil && (!r.More || isOver):
				return errEnough
			case r.Err == nil:
				return nil
			case isOver || stuck == forwardTries || errors.Is(r.Err, projections.ErrNotInJournal):
				return r.Err
			}
			return forwardBackoff.Sleep(ctx, stuck)
		})
		switch {
		case errors.Is(err, forward.ErrMoved):
			return all, nil
		case errors.Is(err, errEnough):
			s.config.Log.InfoContext(ctx, "forwarded", "delivered", all.Delivered, "ForwardingLag", lag.Milliseconds())
			return all, nil
		}
		attributes := []any{"delivered", all.Delivered, "error", err}
		if lag > 0 { // else it is not known
			attributes = append(attributes, "ForwardingLag", lag.Milliseconds())
		}
		s.config.Log.ErrorContext(ctx, "not forwarded", attributes...)
		return all, err
	}
}

// rewind sets a cursor back, unless to is zero. Error: the time is after the cursor, so that events would be skipped;
// also forward.ErrMoved, the cursor was not set back.
func rewind(ctx context.Context, k forward.Keeper, to time.Time) error {
	if to.IsZero() {
		return nil
	}
	c, err := k.Load(ctx)
	if err != nil {
		return err
	}
	at, _ := projections.ParseJournalPosition(c.After)
	from := projections.JournalFrom(to.Add(-forward.Margin))
	if at.KSUID != "" && from.KSUID > at.KSUID || to.After(time.Now()) {
		return fmt.Errorf("rewind %s: events that are not delivered yet would be skipped", to.Format(time.RFC3339))
	}
	return k.Store(ctx, forward.Cursor{After: from.String()})
}

const (
	// forwardPage is how many events a page of the forwarder has at most, after one that was full. A run begins with
	// fewer, so that it comes forward whatever the events are.
	forwardPage = 1000
	// forwardBytes bounds a page, if its events are as large as those of the page before.
	forwardBytes = 4 << 20
)

// journalPages returns a function that reads pages of the journal, one after another.
func (s *Service) journalPages() func(context.Context, forward.Cursor) (client.JournalPage, error) {
	limit := client.PageLimit
	return func(ctx context.Context, c forward.Cursor) (page client.JournalPage, err error) {
		page, err = s.readJournal(ctx, c, limit)
		bytes := 0
		for _, e := range page.Data {
			bytes += len(e.Data) + len(e.Canonical)
		}
		if limit = client.PageLimit; len(page.Data) >= limit && bytes/len(page.Data) <= forwardBytes/forwardPage {
			limit = forwardPage
		}
		return page, err
	}
}

// readJournal reads a page of the journal. Its cursors are positions in the table, so that they outlive a restore.
func (s *Service) readJournal(ctx context.Context, c forward.Cursor, limit int) (page client.JournalPage, err error) {
	listed, err := s.journal.After(ctx, projections.Slice{After: c.After, Limit: limit}, "")
	if err != nil {
		return page, err
	}
	page = client.JournalPage{Data: make([]client.JournalEntry, len(listed.Items)), NextCursor: listed.Next}
	for i, e := range listed.Items {
		if page.Data[i], err = api.Entry(e, e.Position); err != nil {
			return page, err
		}
	}
	return page, nil
}
