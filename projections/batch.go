package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

const (
	// accountsAtOnce is how many accounts of a batch are refolded at the same time: a refold waits for the store nearly
	// all the time, and a batch of a hundred accounts must be done before a shard brings the next.
	accountsAtOnce = 32
	// throttledTries is how often a group is tried while the store throttles it: some 40 s, less when the deadline is
	// near.
	throttledTries = 120
	// reportTime is what is left of a deadline to report what is done: well above a request that is under way.
	reportTime = time.Second
)

// ErrMalformedRecord is returned for a record under a prefix of events whose key is none.
var ErrMalformedRecord = errors.New("key of the record cannot be read")

// Record is one record of the table's stream: what it changed, and its name for partial failures.
type Record struct {
	SequenceNumber string
	PK, SK         string
	Removed        bool     // a REMOVE record: never ours to act on; logged
	Figures        *Figures // of a posting, as the record shows them; nil: the table is read for them
}

// Figures are what a posting adds to a fold.
type Figures struct{ Quantity, Cost events.Amount }

// group is the work that records of one batch ask for: the refold of one balance, or one membership.
type group struct {
	groupKey
	first int    // position in the batch of its first record
	marks []mark // of a refold
	work  work   // of a refold
	err   error
}

type groupKey struct{ account, asset, user string } // asset of a refold, user of a membership, neither of a malformed record

// Project applies a batch: it refolds each balance that postings of the batch belong to once, brings memberships up to
// date, and skips everything else: our own writes come back through the stream. All of it may be done again. Groups of
// one account are done one after another, as they meet in its summary.
//
// It does all that it can, and returns the sequence number of the first record of those whose group failed ("" when all
// succeeded): those before it are done. When that is the batch's first record it returns an error instead, so that the
// invocation fails and the batch is halved. It stops short of ctx's deadline: what isn't done then has failed.
func (p *Projector) Project(ctx context.Context, batch []Record) (failed string, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-reportTime))
		defer cancel()
	}
	groups := p.groups(ctx, batch)
	var running errgroup.Group
	running.SetLimit(p.accounts)
	for _, ofAccount := range byAccount(groups) {
		running.Go(func() error {
			for _, g := range ofAccount {
				g.err = p.project(ctx, g)
			}
			return nil // one account's failure stops no other
		})
	}
	_ = running.Wait()
	p.measure(ctx, batch, groups)
	return p.report(ctx, batch, groups)
}

// groups sorts the records of a batch into groups, in the order of their first records.
func (p *Projector) groups(ctx context.Context, batch []Record) []*group {
	var groups []*group
	known := make(map[groupKey]*group)
	at := func(i int, key groupKey) *group {
		g := known[key]
		if g == nil {
			g = &group{groupKey: key, first: i}
			known[key] = g
			groups = append(groups, g)
		}
		return g
	}
	for i, r := range batch {
		key := table.Key{PK: r.PK, SK: r.SK}
		switch {
		case r.Removed:
			p.log.ErrorContext(ctx, "item was deleted", "pk", r.PK, "sk", r.SK, "sequence_number", r.SequenceNumber,
				"EventsDeleted", 1) // counted as a metric
		case table.IsPosting(r.SK):
			account, asset, text, ok := table.ParsePosting(key)
			id, err := events.ParseKSUID(text)
			if !ok || err != nil {
				groups = append(groups, malformed(i, r))
				continue
			}
			g := at(i, groupKey{account: account, asset: asset})
			g.marks = append(g.marks, mark{id, r.Figures})
		case table.IsGrant(r.SK):
			account, user, _, ok := table.ParseGrant(key)
			if !ok {
				groups = append(groups, malformed(i, r))
				continue
			}
			at(i, groupKey{account: account, user: user})
		}
	}
	return groups
}

func malformed(i int, r Record) *group {
	return &group{first: i, err: fmt.Errorf("%w: key %q, %q", ErrMalformedRecord, r.PK, r.SK)}
}

// byAccount splits groups by account, each in the order given, and leaves out what has failed already.
func byAccount(groups []*group) [][]*group {
	var split [][]*group
	index := make(map[string]int)
	for _, g := range groups {
		if g.err != nil {
			continue
		}
		i, ok := index[g.account]
		if !ok {
			i = len(split)
			index[g.account] = i
			split = append(split, nil)
		}
		split[i] = append(split[i], g)
	}
	return split
}

// project does a group, again while the store throttles: that is no fault of its records, and a mapping delivers a
// failed one a few times only before it sets it aside. A table may well be throttled for minutes while it grows.
func (p *Projector) project(ctx context.Context, g *group) error {
	for try := 1; ; try++ {
		err := p.once(ctx, g)
		if !errors.Is(err, table.ErrThrottled) || try == throttledTries {
			return err
		}
		if stopped := p.pause(ctx, try); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

func (p *Projector) once(ctx context.Context, g *group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if g.asset != "" {
		return p.work(ctx, Key{Account: g.account, Asset: g.asset}, g.marks, &g.work)
	}
	return p.Remember(ctx, g.account, g.user)
}

// report logs each group that failed and names the first record of them, as Project returns it.
func (p *Projector) report(ctx context.Context, batch []Record, groups []*group) (failed string, err error) {
	for _, g := range groups {
		if g.err == nil {
			continue
		}
		number := batch[g.first].SequenceNumber
		p.log.ErrorContext(ctx, "projection failed", "account", g.account, "asset", g.asset, "user", g.user, "sequence_number", number, "error", g.err)
		if failed != "" || err != nil {
			continue
		}
		// An empty name would read as success.
		if g.first == 0 || number == "" {
			err = fmt.Errorf("record %d of the batch: %w", g.first+1, g.err)
		} else {
			failed = number
		}
	}
	return failed, err
}
