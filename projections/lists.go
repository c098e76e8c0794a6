package projections

import (
	"context"
	"time"

	"ledger.example/events"
)

// Slice asks for one page of a list. A position is the id (or the KSUID, in histories) of the last thing already given; "" is the top.
type Slice struct {
	After string
	Limit int // 1 to 100
}

// Listed is one page of a list. Next is the position to go on from, "" at the end. A page may be short, even empty, before the end.
type Listed[T any] struct {
	Items []T
	Next  string
}

// Span bounds a history by time: from included, to excluded; zero times leave a side open.
type Span struct{ From, To time.Time }

// Lists is the store as plain reads see it: eventually consistent unless said otherwise, one request each. Errors: ErrThrottled, ErrUnavailable of package table.
type Lists interface {
	// Balance reads one balance; ErrAbsent when there is none.
	Balance(ctx context.Context, k Key) (Balance, error)
	// Balances lists an account's balances by asset.
	Balances(ctx context.Context, account string, s Slice) (Listed[Balance], error)
	// AccountPage reads the account, its summary and its first balances (at most limit) in one query. account is nil when it is not there (yet).
	AccountPage(ctx context.Context, account string, limit int) (*events.AccountOpened, Summary, Listed[Balance], error)
	// Newest reads the account and its newest n postings over all assets in one reverse query of the history index. account is nil when it is
	// not (yet) in the index.
	Newest(ctx context.Context, account string, n int) (*events.AccountOpened, Listed[events.PostingRecorded], error)
	// History lists an account's postings over all assets, newest first.
	History(ctx context.Context, account string, span Span, s Slice) (Listed[events.PostingRecorded], error)
	// HistoryOf lists an account's postings of one asset, newest first; strong reads the base table strongly consistent.
	HistoryOf(ctx context.Context, k Key, span Span, s Slice, strong bool) (Listed[events.PostingRecorded], error)
	// Holders lists the balances of an asset by account: one query of the inverse index and one batch read of the balances.
	Holders(ctx context.Context, asset string, s Slice) (Listed[Balance], error)
	// Assets and Accounts list definitions by id with a prefix; listed accounts leave Profile out.
	Assets(ctx context.Context, prefix string, s Slice) (Listed[events.AssetRegistered], error)
	Accounts(ctx context.Context, prefix string, s Slice) (Listed[events.AccountOpened], error)
	// Members lists the members of an account by user; AccountsOf the memberships of a user by account. Revoked ones are left out.
	Members(ctx context.Context, account string, s Slice) (Listed[Membership], error)
	AccountsOf(ctx context.Context, user string, s Slice) (Listed[Membership], error)
}
