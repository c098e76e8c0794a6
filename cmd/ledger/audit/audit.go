// Package audit proves that the table is the fold of its events, by code that shares nothing with the ledger's: its own
// decoding, its own arithmetic, its own order of reading. Of ours it imports the names of the table's keys and attributes
// and nothing else, so that a fault of the ledger is not a fault of its auditor.
//
// The table is scanned once, in parallel segments. Each item is checked by itself: keys, types, canonical texts and
// numbers, nothing unknown; of a header the sums, the shape and the fingerprint. That headers and postings are the same
// legs is compared without holding either: each expected leg is added to, and each posting found taken from, sums of
// hashes by transaction, which are zero when all is well. Each account is then walked in the order of its keys, strongly
// consistent, and its balances, segments, guards, summary and memberships are compared with what its postings and grants
// add up to. Memory is bounded by pages, not by the table.
//
// The ledger may serve meanwhile. No scan sees one instant, so nothing that looks wrong is reported before it has been
// read again by itself, a few times with pauses, and what is too young to be settled is not reported at all.
package audit

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"
)

// Store is what the audit reads the table through; *dynamodb.Client is one. Every read that it is asked for is strongly
// consistent. It must be safe for concurrent use.
type Store interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Settings of an audit, and their defaults and limits.
const (
	DefaultSegments = 4
	// MostSegments bounds the memory: each segment holds a page, and so does each walk of an account.
	MostSegments = 16
	// DefaultSettle is a good deal longer than a command may live (8 s) and a projector takes.
	DefaultSettle = time.Minute
	// DefaultFindings is how many findings are kept for the report; all are counted.
	DefaultFindings = 100
)

// Options of an audit.
type Options struct {
	Store    Store
	Table    string
	Segments int           // of the scan, read at the same time, with as many walks of accounts beside them; 0: DefaultSegments
	Settle   time.Duration // how old what looks wrong must be to be reported while it may still be on its way; 0: all of it
	Findings int           // how many findings are kept, 0: none
	Rate     float64       // read units of the table a second, 0: no limit

	Now   func() time.Time                           // nil: time.Now
	Pause func(context.Context, time.Duration) error // between two reads of what looks wrong; nil: by the clock
}

// Counts tell how far an audit is. Items are those of the scan.
type Counts struct {
	Items, Transactions, Postings, Accounts, Findings int64
}

// Report is what an audit found.
type Report struct {
	Counts    Counts
	Unsettled int64          // balances that were still on the move when the audit gave up waiting; nothing is wrong with them so far
	ByCode    map[Code]int64 // findings by code
	Findings  []Finding      // the first of them, by key
}

// Sound tells whether nothing was found.
func (r Report) Sound() bool { return r.Counts.Findings == 0 }

// Audit is one audit, to be run once.
type Audit struct {
	Options
	started time.Time
	meter   meter
	known   *definitions
	ledger  journal // what headers and postings say of each other
	found   log
	walks   chan account
	counts  counters
}

// New returns an audit that has not begun.
func New(o Options) *Audit {
	if o.Segments == 0 {
		o.Segments = DefaultSegments
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	a := &Audit{Options: o, walks: make(chan account, o.Segments)}
	a.meter = meter{rate: o.Rate, now: o.Now, pause: o.Pause}
	a.known = newDefinitions(a)
	a.found.most = o.Findings
	return a
}

// Counts tells how far the audit is, while it runs.
func (a *Audit) Counts() Counts { return a.counts.now() }

// Run audits the whole table. An error means that it could not be read to its end: then nothing is said of it.
func (a *Audit) Run(ctx context.Context) (Report, error) {
	a.started = a.Now()
	if err := a.ledger.start(a); err != nil {
		return Report{}, err
	}
	if err := a.scanAndWalk(ctx); err != nil {
		return Report{}, err
	}
	if err := a.ledger.resolve(ctx); err != nil {
		return Report{}, err
	}
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return Report{
		Counts:    a.Counts(),
		Unsettled: a.counts.unsettled.Load(),
		ByCode:    a.found.byCode(),
		Findings:  a.found.shown(),
	}, nil
}

func (a *Audit) scanAndWalk(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error {
		defer close(a.walks)
		return a.scan(ctx, a.look)
	})
	for range a.Segments {
		all.Go(func() error {
			for account := range a.walks {
				if err := a.walk(ctx, account); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// enqueue hands an account to a walker.
func (a *Audit) enqueue(ctx context.Context, of account) error {
	select {
	case a.walks <- of:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settled is the instant before which nothing is on its way any more.
func (a *Audit) settled() time.Time { return a.Now().Add(-a.Settle) }

// errIncomplete marks an answer of the store that breaks its own promises.
var errIncomplete = errors.New("the store answered of other items than it was asked for")
