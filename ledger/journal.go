package ledger

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Journal is the append-only book of events, with the spending guards beside it. Package ledger/dynamo keeps it.
//
// Every method is safe for concurrent use, makes at most the requests to the store that it names, and ends with its
// context. Errors are those of package store, wrapped. Times are the store's clock in whole seconds, zero when the
// store did not tell it.
type Journal interface {
	// Lookup reads definitions and known credits, strongly consistent, in one request for each hundred keys. What is
	// absent is absent from the result. Errors: ErrThrottled, ErrUnavailable.
	Lookup(ctx context.Context, keys LookupKeys) (LookupResult, error)

	// Transaction reads one header, strongly consistent, in one request.
	// Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error)

	// Life reads a transaction with all that became of it, strongly consistent, in one request for each megabyte.
	// Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	Life(ctx context.Context, id string) (Life, time.Time, error)

	// DueHolds lists, a page at a time, the open holds of a shard, of table.OpenHoldsShards, that expire at until or
	// before, after the given one, those that expire first first. It is eventually consistent and lags as projections
	// do: what is listed may have ended. It makes one request. Errors: ErrThrottled, ErrUnavailable.
	DueHolds(ctx context.Context, shard int, until time.Time, after DueHold) (holds []DueHold, more bool, err error)

	// VerifyComplete reads a head and all postings that were committed with it in one serializable request. Without an
	// error all of them are there: only then may a replay be acknowledged. Errors: ErrAbsent (of some item),
	// ErrConflict, ErrThrottled, ErrUnavailable.
	VerifyComplete(ctx context.Context, head events.Event, postings []events.PostingRecorded) (time.Time, error)

	// Append makes a commit in one request, all or nothing: every head and posting if absent, and every debit on its
	// guard's condition. It never retries. Errors: *Cancelled when the store proves that this attempt wrote nothing,
	// and why; ErrThrottled and ErrUnavailable when this attempt wrote nothing; ErrUnknownOutcome.
	Append(ctx context.Context, c Commit) (time.Time, error)

	// Put puts an event that is no part of a transaction, if none is stored under its key, and none under a key of
	// unless, of which only the keys count, in one request. It returns what is stored: e or, with ErrExists, the event
	// that was there. Other errors: ErrOutdated when there is one of unless, and none under the key of e; ErrConflict,
	// ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	Put(ctx context.Context, e events.Event, unless ...events.Event) (stored events.Event, err error)

	// PutChange puts a change of an account, and makes it the newest, if the newest until then has the number before,
	// in one request. Errors: ErrConflict when it has not; ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	PutChange(ctx context.Context, c events.AccountChanged) error

	// MakeGuard makes the guard of a pair, told of no change, unless there is one, in one request.
	// Errors: ErrConflict, ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	MakeGuard(ctx context.Context, pair events.Pair) error

	// TellGuard tells a guard of its account's version, unless it was told of that one or a newer one, in one request.
	// Errors: ErrAbsent, ErrConflict, ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	TellGuard(ctx context.Context, pair events.Pair, version int64) error

	// Guards reads a page of an account's guards after that of an asset ("": from the first), by asset, strongly
	// consistent, in one request. next is the asset to go on after, "" at the end. Errors: ErrThrottled,
	// ErrUnavailable.
	Guards(ctx context.Context, account, after string) (page []Guard, next string, err error)

	// NewestGrant reads the newest grant or revocation of user on account, strongly consistent, in one request: the
	// role, "" after a revocation, and its number. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	NewestGrant(ctx context.Context, account, user string) (role events.Role, number int64, err error)

	// NewestGroupGrant is NewestGrant of a user in a group.
	NewestGroupGrant(ctx context.Context, group, user string) (role events.Role, number int64, err error)

	// NewestGroups reads the newest change of an account's groups, strongly consistent, in one request: all groups that
	// the account is in, and its number. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	NewestGroups(ctx context.Context, account string) (groups []string, number int64, err error)
}

// LookupKeys names what to look up. Entries may repeat.
type LookupKeys struct {
	Accounts, Assets, Groups []string      // ids
	Credits                  []events.Pair // with their guards
}

// LookupResult is what was found.
type LookupResult struct {
	Accounts map[string]Account
	Assets   map[string]events.AssetRegistered
	Groups   map[string]events.GroupRegistered
	Credits  map[events.Pair]events.Amount // funds as projected: a lower bound; absent without a balance
	Guards   map[events.Pair]Guard         // of the pairs of Credits; absent without a guard
	At       time.Time                     // the store's clock
}

// Guard counts what an account ever spent or held of an asset.
type Guard struct {
	Pair   events.Pair
	Spent  events.Amount
	Change int64 // the account's version that it was told of last, 0 for none
}

// Life is a transaction with what became of it.
type Life struct {
	Header    events.TransactionPosted
	Ended     *events.HoldEnded            // of a hold; nil while it is open
	Reversals []events.TransactionReversed // by number
}

// DueHold is a hold as it is listed by expiry.
type DueHold struct {
	ID        string
	ExpiresAt time.Time
}

// Commit is what is appended in one transaction of the store.
type Commit struct {
	Heads    []events.Event           // what is there once: a header, its reversal's number, the end of a hold
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

// Debit is one update of a guard: add Gross to what was ever spent, on the condition that the guard is there, was told
// of the version Change of its account and of no newer one, and that what was spent so far is at most Bound. So nothing
// passes a negative Bound.
type Debit struct {
	Pair   events.Pair
	Change int64
	Gross  events.Amount // above zero: the sum of the transaction's debits of the pair
	Bound  events.Amount // known credits + own credits + overdraft − Gross; Bound + Gross has at most 38 digits
}

// Cancelled is the store's proof that one attempt to append wrote nothing, with its reasons.
type Cancelled struct {
	Heads     []HeadReason // one for each of Commit.Heads
	Refused   []Refusal    // guards whose condition failed, in the order of Commit.Debits
	Conflict  bool         // an item other than a head met another transaction
	Throttled bool         // such an item was throttled
	At        time.Time    // the store's clock
}

// HeadReason is what a cancellation says of a head.
type HeadReason struct {
	Is     HeadIs
	Stored events.Event // with HeadExists: what is there, nil if the store did not show it
}

// HeadIs is what the store found in a head's place.
type HeadIs int

// HeadNone says that nothing was there; a refusal is final only when a read confirms it. HeadConflict proves nothing:
// it may be our own first attempt being committed.
const (
	HeadNone HeadIs = iota
	HeadExists
	HeadConflict
	HeadThrottled
)

// Refusal is a guard whose condition failed, as it was at the refusal.
type Refusal struct {
	Guard
	Absent bool // there is no guard yet
}

func (c *Cancelled) Error() string { return "transaction was cancelled by the store" }

// head returns what is said of the head with an index: HeadNone when nothing is said.
func (c *Cancelled) head(i int) HeadReason {
	if i >= len(c.Heads) {
		return HeadReason{}
	}
	return c.Heads[i]
}

// cause is what cancelled the attempt: ErrThrottled if nothing but throttling did, else ErrConflict.
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

// Projections is what a command needs of the read side. It is safe for concurrent use.
type Projections interface {
	// Funds returns the exact sum of what account ever received of asset, by credits and from ended holds, with every
	// transaction acknowledged before the call. Errors: those of package store for reads.
	Funds(ctx context.Context, account, asset string) (events.Amount, error)

	// Holdings returns a page of what account has of each asset after one ("": from the first), by asset, with every
	// transaction acknowledged before the call. next is the asset to go on after, "" at the end.
	Holdings(ctx context.Context, account, after string) (page []events.Holding, next string, err error)

	// EnsureVisible returns nil when every later strong read is certain to include a committed posting. ErrConflict:
	// another writer came first or the posting is not counted yet; try again, or answer that the outcome is unknown. It
	// never writes a fold.
	EnsureVisible(ctx context.Context, account, asset string, id events.KSUID) error
}
