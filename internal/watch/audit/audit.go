// Package audit verifies that the projections in the table agree with its events. It shares no code with the ledger
// except the names of keys and attributes in package table. Decoding, arithmetic and the order of reads are written
// separately, so that one bug cannot hide in both.
//
// All reads are strongly consistent. The files belong to four phases:
//
//   - read.go scans the table in parallel segments, and reads pages of single partitions.
//   - decode.go, reader.go and values.go check each item by itself: keys, types, canonical strings and numbers,
//     unknown attributes. The types of items are in definitions.go, transactions.go and projections.go.
//   - item.go, hashes.go, lifecycle.go and entries.go check the checksum of each event, the sums, shape and
//     fingerprint of each header, the ends of holds, and the reversals. reconcile.go, pages.go and resolve.go also
//     compare headers and ends with the postings, the lists of holds, the lists of transactions and the journal. These
//     do not fit into memory. The audit therefore adds the hashes of the expected items of each transaction and
//     subtracts the hashes of the stored items.
//     unseen.go tells events that were lost on the way to the journal from those that somebody may have added.
//   - account.go reads each account in the order of its keys. balance.go, fold.go, examine.go, closed.go and
//     numbered.go compare balances, segments, guards, the summary, memberships and places in groups with the events of
//     the account: postings, changes, changes of groups, grants; and the memberships of each group with its grants.
//     tags.go compares entries in lists by metadata with the versions of their accounts.
//
// A failed read ends the audit: request cancels the audit's context with the error and returns an empty reply. No
// other function returns errors of reads. Functions may continue with the empty reply, because a canceled audit
// accepts no findings and returns no report.
//
// Memory use depends on the size of a page, not on the size of the table. The ledger may serve requests during an
// audit, so the scan is not a snapshot. The audit reads an item that looks wrong several times, with pauses, before it
// reports it. It does not report items that may still be projected (see Options.Settle).
package audit

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// Store is the part of *dynamodb.Client that an audit uses. It must be safe for concurrent use.
type Store interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Defaults and limits of the options.
const (
	DefaultSegments = 4
	// MostSegments bounds the memory: each segment holds a page, and so does each check of an account.
	MostSegments = 16
	// DefaultSettle is much longer than a command (8 s) and its projection take.
	DefaultSettle   = time.Minute
	DefaultFindings = 100
)

// Options of an audit.
type Options struct {
	Store    Store
	Table    string
	Segments int           // parallel segments of the scan, and parallel checks of accounts; 0: DefaultSegments
	Settle   time.Duration // events of this age or older must be projected; 0: all events
	Findings int           // the report has at most this number of findings; all are counted
	Rate     float64       // read units per second; 0: no limit
	Indexed  []string      // the metadata keys by which transactions and accounts are listed

	Now   func() time.Time                           // nil: time.Now
	Pause func(context.Context, time.Duration) error // nil: sleep
}

// Counts are the progress of an audit. Items counts the items of the scan, and Parts the segments read to their end.
type Counts struct {
	Items, Transactions, Postings, Accounts, Findings, Parts int64
}

// Report is the result of an audit.
type Report struct {
	Counts    Counts
	Overdue   int64            // open holds that the sweeper should have expired
	Unsettled int64            // projections that kept changing: neither right nor proved wrong
	ByCode    map[Code]int64   // findings by code
	ByKind    map[string]int64 // items of the scan by type; "unknown" for unknown types
	Findings  []Finding        // the first Options.Findings, sorted by key
}

// Sound reports whether there are no findings.
func (r Report) Sound() bool { return r.Counts.Findings == 0 }

// Audit is one audit. Run may be called once.
type Audit struct {
	Options
	fail             context.CancelCauseFunc // ends the audit with an error; the first error counts
	started          time.Time
	limiter          limiter
	definitions      definitions
	periods          periods
	laneLog          laneLog
	reconciler       *reconciler
	progress         progress
	accounts         chan account // to be checked
	checkedReversals recentIDs    // transactions whose reversals were checked
	checkedTags      recentIDs    // accounts whose entries in lists by metadata were found

	mu        sync.Mutex
	draft     Report
	storeTime time.Time // of the newest page of a scan; zero: not known
}

// New returns an audit.
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
	a := &Audit{Options: o, accounts: make(chan account, o.Segments),
		draft: Report{ByCode: make(map[Code]int64), ByKind: make(map[string]int64)}}
	a.progress.behind = make(map[table.Key]bool)
	a.limiter = limiter{rate: o.Rate, now: o.Now, pause: a.sleep}
	a.definitions = definitions{cache: make(map[table.Key]definition), missing: make(map[table.Key]bool)}
	return a
}

// Counts returns the progress of a running audit. It is safe for concurrent use.
func (a *Audit) Counts() (c Counts) {
	a.count(func(r *Report) { c = r.Counts })
	return c
}

// Run audits the whole table. An error means that the audit did not read all of it; the report is then empty.
func (a *Audit) Run(ctx context.Context) (Report, error) {
	ctx, a.fail = context.WithCancelCause(ctx)
	defer a.fail(nil)
	a.started = a.Now()
	a.reconciler = newReconciler(a)
	a.scanAndCheck(ctx)
	a.reconciler.resolve(ctx)
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return a.result(), nil
}

// scanAndCheck checks every item of the table, and in parallel each account that the scan finds.
func (a *Audit) scanAndCheck(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		defer close(a.accounts)
		a.scan(ctx, a.checkItem)
	})
	for range a.Segments {
		all.Go(func() {
			for acct := range a.accounts {
				a.checkAccount(ctx, acct)
			}
		})
	}
	all.Wait()
}

// enqueue passes an account to a goroutine that checks it. It blocks while all of them are busy.
func (a *Audit) enqueue(ctx context.Context, acct account) {
	select {
	case a.accounts <- acct:
	case <-ctx.Done():
	}
}

const (
	// rounds is how often an item that looks wrong is read. With the pauses this takes longer than a running projector
	// needs for the item.
	rounds     = 8
	roundPause = 200 * time.Millisecond
	// After manyFindings findings, repeat makes fewer and faster attempts. The audit of a badly damaged table would
	// otherwise take days.
	manyFindings       = 64
	manyFindingsRounds = 2
	manyFindingsPause  = 20 * time.Millisecond
)

// repeat calls attempt until it is done, at most rounds times, or until the audit ends. It pauses after each call:
// roundPause after the first one, twice as long after the second one, and so on. attempt gets the number of its call,
// which starts at 1, and the number of the last call.
func (a *Audit) repeat(ctx context.Context, attempt func(round, last int) (done bool)) {
	for round := 1; ctx.Err() == nil; round++ {
		last, pause := rounds, roundPause
		if a.Counts().Findings >= manyFindings {
			last, pause = max(round, manyFindingsRounds), manyFindingsPause // at the last call, round is last
		}
		if attempt(round, last) || round >= last {
			return
		}
		a.sleep(ctx, time.Duration(round)*pause)
	}
}

// confirm looks again at what a first look found, until nothing is found. It reports the findings of the last look.
func (a *Audit) confirm(ctx context.Context, found []Finding, again func() []Finding) {
	a.repeat(ctx, func(round, last int) (done bool) {
		if round > 1 {
			found = again()
		}
		if round == last {
			a.report(ctx, found...)
		}
		return len(found) == 0
	})
}

// sleep pauses for d. An error of Pause ends the audit.
func (a *Audit) sleep(ctx context.Context, d time.Duration) {
	if err := a.Pause(ctx, d); err != nil {
		a.fail(err)
	}
}

// isYoung reports whether an event of that time need not be projected yet. The age decides, and not another look after
// the settle time: a busy item always lacks some event, and only the age tells whether that is a new one. So an audit
// need not wait, or remember what to look at again. An event of a far future is not young: its time is wrong.
func (a *Audit) isYoung(at time.Time) bool {
	return at.After(a.Now().Add(-a.Settle)) && at.Before(a.latest())
}

// latest returns the instant from which on times are wrong.
func (a *Audit) latest() time.Time { return a.Now().Add(uncheckedSkew) }
