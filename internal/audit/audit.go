// Package audit verifies that the projections in the table agree with its events. It shares no code with the ledger
// except the names of keys and attributes in package table. It has its own decoding, its own arithmetic and its own
// order of reading, so that one bug cannot hide in both.
//
// All reads are strongly consistent. The prefix of a file name is the phase that the file belongs to:
//
//   - read: scans the table in parallel segments, and reads pages of single partitions.
//   - decode: checks each item by itself: keys, types, canonical texts and numbers, and that nothing is unknown.
//   - events: checks the checksum of each event, the sums, the shape and the fingerprint of each header, the ends of
//     holds and the reversals. It also compares headers and ends with the postings, the lists of holds, the lists of
//     transactions and the journal. It holds none of these in memory: for each transaction it adds the hashes of the
//     expected items and subtracts the hashes of the stored ones.
//   - projections: reads each account in the order of its keys. It compares balances, segments, guards, summary,
//     memberships and places in groups with the sums of the postings, with the changes of the account and of its
//     groups, and with the grants. It reads the members of each group likewise.
//
// A read that fails ends the audit: it cancels the context of the audit with its error, and returns nothing. Therefore
// no other function returns errors of reads. A function may go on with an empty answer. That does no harm: a canceled
// audit takes no more findings and has no report.
//
// Memory depends on the size of a page, not of the table. The ledger may serve requests during an audit, so a scan
// does not see one instant. An item that looks wrong is therefore read again several times, with pauses, before it is
// reported. Items that are too recent to be settled are not reported.
package audit

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// Store is what the audit needs of *dynamodb.Client. It must be safe for concurrent use.
type Store interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput,
		...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
}

// Settings of an audit, and their defaults and limits.
const (
	DefaultSegments = 4
	// MostSegments bounds the memory: each segment holds a page, and so does each check of an account.
	MostSegments = 16
	// DefaultSettle is much longer than a command (8 s) and a projector take.
	DefaultSettle = time.Minute
	// DefaultFindings is how many findings a report has; all are counted.
	DefaultFindings = 100
)

// Options of an audit.
type Options struct {
	Store    Store
	Table    string
	Segments int           // of the scan, in parallel, and checks of accounts beside it; 0: DefaultSegments
	Settle   time.Duration // the age from which an event must be projected; 0: any age
	Findings int           // how many findings the report has; 0: none
	Rate     float64       // read units a second; 0: no limit
	Indexed  []string      // the metadata keys by which transactions are listed

	Now   func() time.Time                           // nil: time.Now
	Pause func(context.Context, time.Duration) error // nil: sleeps
}

// Counts are the progress of an audit. Items are those of the scan.
type Counts struct {
	Items, Transactions, Postings, Accounts, Findings int64
}

// Report is the result of an audit.
type Report struct {
	Counts               Counts
	WithoutChecksum      int64            // events without a checksum: those of version 1
	GuardsWithoutVersion int64            // guards that were told of no version: those of before accounts could change
	Overdue              int64            // holds that should have expired long ago: nothing ends them
	Unsettled            int64            // balances that kept changing; nothing about them is proved wrong
	ByCode               map[Code]int64   // findings by code
	ByKind               map[string]int64 // items of the scan by type, "unknown" for those of no type of ours
	Findings             []Finding        // the first that were found, sorted by key
}

// Sound reports whether there are no findings.
func (r Report) Sound() bool { return r.Counts.Findings == 0 }

// Audit is one audit. Its method Run may be called once.
type Audit struct {
	Options
	fail      context.CancelCauseFunc // ends the audit with an error; later errors are ignored
	started   time.Time
	limiter   limiter
	known     definitions
	legs      *legCheck
	checksums checksums
	accounts  chan account // to be checked
	reversed  recently     // transactions whose reversals were checked

	mu   sync.Mutex
	made Report // the report in the making
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
		made: Report{ByCode: make(map[Code]int64), ByKind: make(map[string]int64)}}
	a.limiter = limiter{rate: o.Rate, now: o.Now, pause: a.sleep}
	a.known = definitions{cache: make(map[table.Key]definition), missing: make(map[table.Key]bool)}
	return a
}

// Counts returns the progress of a running audit. It is safe for concurrent use.
func (a *Audit) Counts() (c Counts) {
	a.count(func(r *Report) { c = r.Counts })
	return c
}

// Run audits the whole table. An error means that it could not be read to its end: then there is no report.
func (a *Audit) Run(ctx context.Context) (Report, error) {
	ctx, a.fail = context.WithCancelCause(ctx)
	defer a.fail(nil)
	a.started = a.Now()
	a.legs = newLegCheck(a)
	a.scanAndCheck(ctx)
	a.legs.resolve(ctx)
	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	return a.soFar(), nil
}

// scanAndCheck checks every item, and the accounts while the scan finds them.
func (a *Audit) scanAndCheck(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		defer close(a.accounts)
		a.scan(ctx, a.checkItem)
	})
	for range a.Segments {
		all.Go(func() {
			for of := range a.accounts {
				a.checkAccount(ctx, of)
			}
		})
	}
	all.Wait()
}

// enqueue has an account checked. It waits while all checkers of accounts are busy.
func (a *Audit) enqueue(ctx context.Context, of account) {
	select {
	case a.accounts <- of:
	case <-ctx.Done():
	}
}

const (
	// From hastyFindings findings on nothing is waited for at length: an audit of a table with so many would take
	// days.
	hastyFindings = 64
	hastyRounds   = 2
	hastyPause    = 20 * time.Millisecond
)

// repeat calls look until it is done or the audit has ended, at most rounds times. The pauses between the calls grow by
// the given one each time. look gets the number of its call, from 1, and that of the last one.
func (a *Audit) repeat(ctx context.Context, rounds int, pause time.Duration, look func(round, last int) (done bool)) {
	for round := 1; ctx.Err() == nil; round++ {
		last, pause := rounds, pause
		if a.Counts().Findings >= hastyFindings {
			last, pause = min(rounds, hastyRounds), hastyPause
		}
		if look(round, last) || round >= last {
			return
		}
		a.sleep(ctx, time.Duration(round)*pause)
	}
}

// confirm repeats look until it finds nothing, and reports what its last call finds.
func (a *Audit) confirm(ctx context.Context, rounds int, pause time.Duration, look func() []Finding) {
	a.repeat(ctx, rounds, pause, func(round, last int) (done bool) {
		found := look()
		if round == last {
			a.report(ctx, found...)
		}
		return len(found) == 0
	})
}

// sleep waits for d. An error of Pause ends the audit.
func (a *Audit) sleep(ctx context.Context, d time.Duration) {
	if err := a.Pause(ctx, d); err != nil {
		a.fail(err)
	}
}

// isYoung reports whether what happened at that time may still be projected.
func (a *Audit) isYoung(at time.Time) bool { return at.After(a.Now().Add(-a.Settle)) }
