package ledger

import (
	"context"
	"time"

	"ledger.example/events"
)

// Pair is one account's holding of one asset.
type Pair struct{ Account, Asset string }

// Journal is the append-only book of events, and the guards beside it. Every method is safe for concurrent use,
// makes at most the requests to the store that it names, and honours ctx's deadline. Errors are those of package
// table, wrapped. Every successful answer tells the store's own clock, in whole seconds (zero when the store did not say).
type Journal interface {
	// Look reads definitions and known credits, strongly consistent, in one request for each hundred things.
	// What is absent is absent from the answer. Errors: ErrThrottled, ErrUnavailable.
	Look(ctx context.Context, wanted Wanted) (Found, error)

	// Transaction reads one header, strongly consistent, in one request. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	Transaction(ctx context.Context, id string) (events.TransactionPosted, time.Time, error)

	// Whole reads the header and all its postings in one serializable request and reports whether every one of them
	// is there: only then is a replay safe to acknowledge. Errors: ErrAbsent (some item is not there), ErrConflict,
	// ErrThrottled, ErrUnavailable.
	Whole(ctx context.Context, t events.TransactionPosted) (time.Time, error)

	// Append commits a transaction in one request, all or nothing: the header and every posting each if absent, and every debit on
	// its guard's condition. Errors: *Cancelled when the store proves that this attempt wrote nothing;
	// ErrThrottled and ErrUnavailable (nothing was written by this attempt); ErrUnknownOutcome. It never retries by itself.
	Append(ctx context.Context, c Commit) (time.Time, error)

	// RegisterAsset puts the event if absent, in one request. When the asset is there already it returns what is stored, with ErrExists.
	// Other errors: ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
	RegisterAsset(ctx context.Context, e events.AssetRegistered) (stored events.AssetRegistered, err error)

	// OpenAccount is RegisterAsset's twin.
	OpenAccount(ctx context.Context, e events.AccountOpened) (stored events.AccountOpened, err error)

	// NewestGrant reads the newest grant or revocation of user on account (events.MemberGranted or events.MemberRevoked), strongly
	// consistent, in one request. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
	NewestGrant(ctx context.Context, account, user string) (events.Event, error)

	// PutGrant is RegisterAsset's twin for an events.MemberGranted or events.MemberRevoked at its number.
	PutGrant(ctx context.Context, e events.Event) (stored events.Event, err error)
}

// Wanted names what to look up; ids may repeat.
type Wanted struct {
	Accounts, Assets []string
	Credits          []Pair
}

// Found is what was there.
type Found struct {
	Accounts map[string]events.AccountOpened
	Assets   map[string]events.AssetRegistered
	Credits  map[Pair]events.Amount // gross credits as projected: a lower bound; absent means nothing is projected
	At       time.Time              // the store's clock
}

// Commit is one transaction to append.
type Commit struct {
	Header events.TransactionPosted // its postings are Header.Postings()
	Debits []Debit                  // one for each limited account and asset that is debited, distinct
}

// Debit is one update of a guard: add Gross to what was ever spent, on the condition that what was spent so far is at
// most Bound (nothing spent counts as zero: an absent guard passes only if Bound is not negative).
type Debit struct {
	Pair
	Gross events.Amount // above zero: the sum of the transaction's debits of the pair
	Bound events.Amount // known credits + own credits + overdraft − Gross, kept so low that spent + Gross has at most 38 digits
}

// Cancelled is the store's proof that one attempt to append wrote nothing, with its reasons.
type Cancelled struct {
	Header    HeaderReason
	Stored    *events.TransactionPosted // with HeaderExists: the header that is there
	Refused   []Refusal                 // guards whose condition failed, in the order of Commit.Debits
	Conflict  bool                      // an item other than the header met another transaction
	Throttled bool                      // an item was throttled
	At        time.Time                 // the store's clock, zero if it did not say
}

// HeaderReason is what a cancellation says of the header.
type HeaderReason int

// HeaderNone proves that no transaction of this id was there; HeaderConflict proves nothing: it may be our own first attempt
// being committed.
const (
	HeaderNone HeaderReason = iota
	HeaderExists
	HeaderConflict
	HeaderThrottled
)

// Refusal is a guard whose condition failed.
type Refusal struct {
	Pair
	Spent events.Amount // what had been spent at the refusal
}

func (c *Cancelled) Error() string { return "transaction was cancelled by the store" }

// Projections is what a command needs of the read side; the mains wire it.
type Projections interface {
	// Credits returns all that account was ever credited of asset, exactly: it includes every transaction acknowledged before the
	// call. Errors: those of package table for reads.
	Credits(ctx context.Context, account, asset string) (events.Amount, error)

	// MakeSure returns nil when every later strong read is certain to include the posting, which is committed already.
	// ErrConflict: somebody else came first or it is not counted yet; look again, or answer that the outcome is unknown. It never
	// writes a fold.
	MakeSure(ctx context.Context, account, asset string, id events.KSUID) error
}
