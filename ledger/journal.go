package ledger

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Journal stores the events, append-only, and the spending guards. Package ledger/dynamo implements it. The API's
// journal is a projection of it: see package projections.
//
// Every method is safe for concurrent use, makes at most the stated requests to the store, and returns when its context
// ends. Errors are those of package store, wrapped. Times are the store's clock in whole seconds, zero if the store did
// not report it.
type Journal interface {
	// Lookup reads definitions and projected credits, strongly consistent, in one request for each hundred keys. The
	// result omits absent items. Errors: ErrThrottled, ErrUnavailable.
	Lookup(ctx context.Context, keys LookupKeys) (LookupResult, error)

	// Transaction reads one header, strongly consistent, in one request.
	// Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error)

	// Lifecycle reads a transaction with its end and its reversals, strongly consistent, in one request for each
	// megabyte. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	Lifecycle(ctx context.Context, id string) (Lifecycle, time.Time, error)

	// DueHolds returns a page of the open holds of one of table.Shards that expire at until or before, by
	// expiry. The page begins after the given hold. The list is a projection and eventually consistent: a listed hold
	// may have ended. It makes one request for a page with holds. Errors: ErrThrottled, ErrUnavailable.
	DueHolds(ctx context.Context, shard int, until time.Time, after DueHold) (holds []DueHold, more bool, err error)

	// VerifyComplete reads a head and all postings of its commit in one serializable request. It returns nil if all of
	// them are stored: only then may a replay be acknowledged. Errors: ErrAbsent (of some item), ErrConflict,
	// ErrThrottled, ErrUnavailable.
	VerifyComplete(ctx context.Context, head events.Event, postings []events.PostingRecorded) (time.Time, error)

	// Append writes a commit in one request, all or nothing. Its conditions: every head and posting is absent, and
	// every debit passes its guard. It never retries. Errors: *Cancelled with the reasons when a condition failed or
	// another write interfered, ErrThrottled and ErrUnavailable, all of which mean that this attempt wrote nothing;
	// ErrUnknownOutcome.
	Append(ctx context.Context, c Commit) (time.Time, error)

	// Put writes an event that is not part of a transaction, in one request, on the condition that no event is stored
	// under its key, nor under the keys of unless. It returns the stored event: e or, with ErrExists, the earlier one.
	// Other errors: ErrOutdated when e is absent but one of unless is stored; ErrConflict, ErrThrottled,
	// ErrUnavailable, ErrUnknownOutcome.
	Put(ctx context.Context, e events.Event, unless ...events.Event) (stored events.Event, err error)

	// PutChange writes a change of an account, in one request, on the condition that the account's newest change has
	// the preceding number. Errors: ErrConflict when it has not; ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	PutChange(ctx context.Context, c events.AccountChanged) error

	// CreateGuard writes the guard of a pair, without an account version, unless it exists, in one request.
	// Errors: ErrConflict, ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	CreateGuard(ctx context.Context, pair events.Pair) error

	// SetGuardVersion sets the account version of a guard, unless the guard has it or a newer one, in one request.
	// Errors: ErrAbsent, ErrConflict, ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	SetGuardVersion(ctx context.Context, pair events.Pair, version int64) error

	// Guards reads a page of an account's guards, by asset, strongly consistent, in one request. The page begins after
	// the given asset, or at the first one for "". next is the asset to continue after, "" at the end.
	// Errors: ErrThrottled, ErrUnavailable.
	Guards(ctx context.Context, account, after string) (page []Guard, next string, err error)

	// NewestGrant reads the role and the number of the newest grant or revocation of a user on an account, strongly
	// consistent, in one request. The role is "" after a revocation. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	NewestGrant(ctx context.Context, account, user string) (role events.Role, number int64, err error)

	// NewestGroupGrant is NewestGrant for a user in a group.
	NewestGroupGrant(ctx context.Context, group, user string) (role events.Role, number int64, err error)

	// NewestGroups reads the groups of an account and the number of their newest change, strongly consistent, in one
	// request. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error)
}

// LookupKeys are the keys of a Lookup. Entries may repeat.
type LookupKeys struct {
	Accounts, Assets, Groups []string      // ids
	Credits                  []events.Pair // with their guards
}

// LookupResult is the result of a Lookup.
type LookupResult struct {
	Accounts map[string]Account
	Assets   map[string]events.AssetRegistered
	Groups   map[string]events.GroupRegistered
	Credits  map[events.Pair]events.Amount // funds as projected: a lower bound; no entry without a balance
	Guards   map[events.Pair]Guard         // of the pairs of LookupKeys.Credits; no entry without a guard
	At       time.Time                     // the store's clock
}

// Guard is the total that an account has ever spent or held of an asset. Each debit of a limited account updates it.
type Guard struct {
	Pair    events.Pair
	Spent   events.Amount
	Version int64 // of the account, as set last; 0 for none
}

// Lifecycle is a transaction with its end and its reversals.
type Lifecycle struct {
	Header    events.TransactionPosted
	Ended     *events.HoldEnded            // of a hold; nil while it is open
	Reversals []events.TransactionReversed // by number
}

// DueHold is an entry in the list of open holds by expiry.
type DueHold struct {
	ID        string
	ExpiresAt time.Time
}

// Commit is appended in one transaction of the store.
type Commit struct {
	Heads    []events.Event           // events under unique keys: headers, a reversal's number, the end of a hold
	Postings []events.PostingRecorded // of all heads
	Debits   []Debit                  // one for each limited account and asset that is debited, distinct
}

// NewCommit returns the commit of one transaction.
func NewCommit(header events.TransactionPosted, debits ...Debit) Commit {
	return Commit{Heads: []events.Event{header}, Postings: header.Postings(), Debits: debits}
}

// add adds a transaction.
func (c *Commit) add(header events.TransactionPosted) {
	c.Heads = append(c.Heads, header)
	if postings := header.Postings(); c.Postings == nil {
		c.Postings = postings
	} else {
		c.Postings = append(c.Postings, postings...)
	}
}

// Actions returns how many actions the commit has in one transaction of the store, which takes
// table.TransactionActions.
func (c Commit) Actions() int { return len(c.Heads) + len(c.Postings) + len(c.Debits) }

// Debit is one update of a guard. It adds Gross to the amount spent, on the condition that the guard exists and has
// this Version, and that the amount spent so far is at most Bound. So a negative Bound never passes.
type Debit struct {
	Pair    events.Pair
	Version int64
	Gross   events.Amount // above zero: the sum of the transaction's debits of the pair
	Bound   events.Amount // known credits + own credits + overdraft − Gross; Bound + Gross has at most 38 digits
}

// Cancelled is the error of an attempt to append that the store cancelled. It proves that the attempt wrote nothing.
type Cancelled struct {
	Heads     []HeadReason // one for each of Commit.Heads
	Refused   []Refusal    // guards whose condition failed, in the order of Commit.Debits
	Conflict  bool         // an item other than a head conflicted with another write
	Throttled bool         // such an item was throttled
	At        time.Time    // the store's clock
}

// HeadReason is the reason of a cancellation for one head.
type HeadReason struct {
	Is     HeadIs
	Stored events.Event // with HeadExists: the stored event, nil if the store did not return it
}

// HeadIs is the state of a head's item at a cancellation.
type HeadIs int

// HeadNone means that the head was absent or was not examined: a refusal is final only after a read. HeadConflict
// proves nothing: the other write may be an earlier attempt of this command.
const (
	HeadNone HeadIs = iota
	HeadExists
	HeadConflict
	HeadThrottled
)

// Refusal is a guard whose condition failed, as it was at the refusal.
type Refusal struct {
	Guard
	Absent bool // the guard does not exist
}

func (c *Cancelled) Error() string { return "transaction was cancelled by the store" }

// head returns the reason of the head with an index, HeadNone if there is none.
func (c *Cancelled) head(i int) HeadReason {
	if i >= len(c.Heads) {
		return HeadReason{}
	}
	return c.Heads[i]
}

// cause returns ErrThrottled if only throttling cancelled the attempt, else ErrConflict.
func (c *Cancelled) cause() error {
	throttled := c.Throttled
	for _, head := range c.Heads {
		switch head.Is {
		case HeadThrottled:
			throttled = true
		case HeadConflict:
			return store.ErrConflict
		}
	}
	if throttled && !c.Conflict && len(c.Refused) == 0 {
		return store.ErrThrottled
	}
	return store.ErrConflict
}

// Projections is the part of the read side that commands need. It is safe for concurrent use.
type Projections interface {
	// Funds returns the exact sum of all credits of account in asset, and of all amounts that ended holds gave back. It
	// includes every transaction acknowledged before the call, a backdated one once it is projected.
	// Errors: those of package store for reads.
	Funds(ctx context.Context, account, asset string) (events.Amount, error)

	// Holdings returns a page of the account's holdings, by asset: of every asset with a posting. It includes the same
	// transactions as Funds. The page begins after the given asset, or at the first one for "". next is the asset to
	// continue after, "" at the end.
	Holdings(ctx context.Context, account, after string) (page []events.Holding, next string, err error)

	// CountPostings counts all stored postings of account in asset. It includes every posting that was visible before
	// the call. It reads all of them, side by side.
	CountPostings(ctx context.Context, account, asset string) (int64, error)

	// EnsureVisible returns nil when every later strong read is certain to include a committed posting. It returns
	// ErrConflict if another writer came first or the posting is not counted yet: retry, or report an unknown outcome.
	// It never writes a fold.
	EnsureVisible(ctx context.Context, account, asset string, id events.KSUID) error
}
