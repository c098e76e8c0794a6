package books

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// Clearing is the account over which an entry is split that has more postings than a transaction may have.
const Clearing = "clearing"

// batchItems is the maximum number of items of an atomic batch: one for each request, and one for each posting of an
// unlimited account.
const batchItems = 100

// rests returns the legs of an account that balance others: one for each asset whose amounts do not sum to zero.
func rests(legs []client.Leg, account string) (all []client.Leg, err error) {
	var order []string
	left := make(map[string]client.Leg)
	for _, leg := range legs {
		rest, known := left[leg.Asset]
		if !known {
			order = append(order, leg.Asset)
		}
		var errs [2]error
		rest.Quantity, errs[0] = rest.Quantity.Sub(leg.Quantity)
		rest.Cost, errs[1] = rest.Cost.Sub(leg.Cost)
		if err := errors.Join(errs[:]...); err != nil {
			return nil, err
		}
		left[leg.Asset] = rest
	}
	for _, asset := range order {
		if rest := left[asset]; !rest.Quantity.IsZero() || !rest.Cost.IsZero() {
			rest.Account, rest.Asset = account, asset
			all = append(all, rest)
		}
	}
	return all, nil
}

// split returns an entry as transactions that have at most events.PostingsMax postings each. Each is balanced by
// postings to Clearing, which sum to zero. The first one has the metadata.
func (m *mapping) split(r *request) []*request {
	if len(r.Postings) <= events.PostingsMax {
		return []*request{r}
	}
	m.reserved[Clearing] = true
	m.splits++
	var parts []*request
	for left := r.Postings; len(left) > 0; {
		n := fitting(left)
		part := *r
		part.Postings, part.split = slices.Clone(left[:n]), m.splits
		rest, err := rests(part.Postings, Clearing)
		if err != nil {
			m.wrong(r.at, "%v: split the entry", err)
			return nil
		}
		part.Postings, left = append(part.Postings, rest...), left[n:]
		if len(parts) > 0 {
			part.Metadata = nil
			if book := r.Metadata[TagBook]; book != "" {
				part.Metadata = map[string]string{TagBook: book}
			}
		}
		parts = append(parts, &part)
	}
	how := "as one atomic batch"
	if !isAtomic(parts) {
		how = "which is not zero until all are posted"
	}
	m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s: the entry %q has %d postings, conversions included, and a "+
		"transaction has at most %d: it is posted in %d parts, over the account %q, %s", r.at, r.Description,
		len(r.Postings), events.PostingsMax, len(parts), Clearing, how))
	return parts
}

// fitting returns how many of the first legs fit in one transaction, with a leg of Clearing for each of their assets.
func fitting(legs []client.Leg) int {
	assets := make(map[string]bool)
	for n, leg := range legs {
		if assets[leg.Asset] = true; n+1+len(assets) > events.PostingsMax {
			return n
		}
	}
	return len(legs)
}

// isAtomic reports whether the parts of an entry fit in one atomic batch.
func isAtomic(parts []*request) bool {
	items := len(parts)
	for _, p := range parts {
		items += len(p.Postings)
	}
	return items <= batchItems
}

// Sent has what became of the requests of a Together.
type Sent struct {
	New, Replayed int64
	OtherText     []Again
}

// Send posts the requests in one atomic batch.
func (t Together) Send(ctx context.Context, api *client.Client) (s Sent, err error) {
	outcomes, err := api.Batch(ctx, client.Batch{Atomic: true, Requests: t.Requests})
	if isAbsent(err, client.CodeTransactionIDReused) {
		return t.compare(ctx, Of(api), err)
	}
	for _, o := range outcomes {
		if o.Written.New {
			s.New++
		} else {
			s.Replayed++
		}
	}
	return s, err
}

// compare compares the requests with what the ledger has under their ids. refusal is returned if it lacks one.
func (t Together) compare(ctx context.Context, l Ledger, refusal error) (s Sent, err error) {
	for _, r := range t.Requests {
		r := r.(client.TransactionRequest) //nolint:forcetypeassert // together makes these only
		switch found, err := Compare(ctx, l, r); {
		case err != nil:
			return s, err
		case found == SameText:
			s.Replayed++
		case found == OtherText:
			s.OtherText = append(s.OtherText, Again{t.Position, r.ID})
		default:
			return s, refusal
		}
	}
	return s, nil
}
