package ledger

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// DryCapture judges a capture as DryRun does a post. Errors: those of Capture.
func (l *Ledger) DryCapture(ctx context.Context, r CaptureRequest) (Ended, error) {
	return l.dryEnd(ctx, r.Shape(), r.Transaction, r.Actor, ending{outcome: events.OutcomeCaptured, part: r.Part})
}

// DryRelease judges a release likewise. Errors: those of Release.
func (l *Ledger) DryRelease(ctx context.Context, r ReleaseRequest) (Ended, error) {
	e := ending{outcome: events.OutcomeReleased, description: r.Description}
	return l.dryEnd(ctx, r.Shape(), r.Transaction, r.Actor, e)
}

func (l *Ledger) dryEnd(ctx context.Context, shape []FieldError, id, actor string, e ending) (Ended, error) {
	c, cancel, err := e.start(ctx, l, shape, id, actor)
	if err != nil {
		return Ended{}, err
	}
	defer cancel()
	life, err := l.readLife(c, id)
	if err != nil {
		return Ended{}, err
	}
	taken, refused := e.judge(life.Header)
	if refused != nil {
		return Ended{}, refused
	}
	var end events.HoldEnded
	if life.Ended != nil {
		end = *life.Ended
	} else if end, _, err = e.commit(c, life.Header, taken); err != nil {
		return Ended{}, err
	}
	if !e.same(end, taken) {
		return Ended{}, e.other(c, end)
	}
	end.Legs, life.Header.Legs = withoutIDs(end.Legs), withoutIDs(life.Header.Legs)
	return Ended{Transaction: life.Header, End: end, Replayed: life.Ended != nil}, nil
}

// withoutIDs returns legs without their KSUIDs.
func withoutIDs(legs []events.Leg) []events.Leg {
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ""
	}
	return legs
}

// DryReverse judges a reversal likewise. Errors: those of Reverse.
func (l *Ledger) DryReverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	p := r.posting(l)
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	if err := r.Part.rules(); err != nil {
		return Posted{}, err
	}
	there, refused := p.rebuild(c)
	p.header.ID = r.ID // rebuild makes one where there is none
	switch {
	case refused != nil && !refused.judgedLate():
		return Posted{}, refused
	case there && refused == nil: // the header is read; one that is being committed is not visible yet
		refused = storeError(store.ErrConflict)
	}
	return p.conclude(c, refused)
}

// DryBatch judges a batch likewise. Errors: those of PostBatch.
func (l *Ledger) DryBatch(ctx context.Context, requests []PostingRequest, atomic bool) ([]BatchResult, error) {
	b, c, cancel, err := l.startBatch(ctx, requests)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if atomic {
		err = b.dryAll(c)
	} else {
		b.dryEach(c)
	}
	if err != nil {
		return nil, err
	}
	return b.results, nil
}

// dryEach judges each request for itself, on what is stored now.
func (b *batch) dryEach(ctx context.Context) {
	b.warm(ctx)
	group, _ := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for i, p := range b.items {
		if b.results[i].Err != nil {
			continue
		}
		group.Go(func() error {
			posted, err := p.dry(ctx)
			if b.results[i].Posted = posted; err != nil {
				b.results[i].Err = asError(err)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// dryAll judges all requests as a whole, or returns the error of the first that would be refused.
func (b *batch) dryAll(ctx context.Context) error {
	w, later, err := b.plan(ctx)
	if err != nil {
		return err
	}
	for i, p := range b.items {
		stored, err := b.ledger.readHeader(ctx, p.header.ID)
		switch {
		case err == nil:
			posted, err := p.wouldReplay(stored)
			if err != nil {
				return ofRequest(err, i)
			}
			b.results[i].Posted = posted
			w.open = slices.DeleteFunc(w.open, func(j int) bool { return j == i })
		case !errors.Is(err, store.ErrAbsent):
			return storeError(err)
		case later[i] != nil:
			return ofRequest(later[i], i)
		default:
			b.results[i].Posted = Posted{Transaction: p.header}
		}
	}
	w.limit()
	short, refused := w.wouldRefuse(ctx, b.ledger)
	switch {
	case refused != nil:
		return refused
	case len(short) > 0:
		return w.refusal(short)
	}
	return nil
}
