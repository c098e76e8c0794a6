package projections

import (
	"context"
	"time"

	"ledger.example/events"
)

// Reversal is a transaction that reversed another one. The reversals of one transaction are numbered from 1.
type Reversal struct {
	Number int64
	Header events.TransactionPosted
}

// Search selects transactions.
type Search struct {
	Span               // when they were posted
	Key, Value  string // an indexed metadata key and its value; Key "": any metadata
	OldestFirst bool
}

// Slice asks for one page of a list. A position is the id, or in histories the KSUID, of the last element already
// returned.
type Slice struct {
	After string // the position to continue after; "": from the beginning
	Limit int    // 1 to 100
}

// Page is one page of a list. A page may be short, even empty, before the end.
type Page[T any] struct {
	Items []T
	Next  string // the position to continue after; "": the end
}

// Span bounds a history by time: From is included, To excluded. A zero time leaves that side open.
type Span struct{ From, To time.Time }

// Holder is an account.
type Holder struct {
	Opened *events.AccountOpened  // nil if it is not visible
	Newest *events.AccountChanged // its newest change; nil: it never changed
}

// Holding is a balance with its account.
type Holding struct {
	Balance
	Holder
}

// AccountPage is an account with its summary and balances.
type AccountPage struct {
	Holder
	Summary  Summary
	Balances Page[Balance]
}

// AccountVersion is one version of an account: its opening, or a change.
type AccountVersion struct {
	Is  events.AccountChanged  // Number 1 is the opening
	Was *events.AccountChanged // the previous version; nil: Is is the opening
}

// Lists is the store as plain reads need it. Reads are eventually consistent and make one request each, unless stated
// otherwise. All methods are safe for concurrent use. Errors: ErrThrottled, ErrUnavailable, ErrMalformedItem of
// package store.
type Lists interface {
	// Balance reads one balance. It returns the zero balance if none is stored.
	Balance(ctx context.Context, k events.Pair) (Holding, error)
	// Balances reads an account, and lists its balances by asset. After the first page it makes two requests.
	Balances(ctx context.Context, account string, s Slice) (Holder, Page[Balance], error)
	// AccountPage reads an account, its summary and its first balances, at most limit.
	AccountPage(ctx context.Context, account string, limit int) (AccountPage, error)
	// Newest reads the account and its newest n postings of all assets. The account is nil if the history index does
	// not have it.
	Newest(ctx context.Context, account string, n int) (*events.AccountOpened, Page[events.PostingRecorded], error)
	// History lists an account's postings of all assets, newest first.
	History(ctx context.Context, account string, span Span, s Slice) (Page[events.PostingRecorded], error)
	// HistoryOf lists an account's postings of one asset, newest first; if strong, by a consistent read.
	HistoryOf(ctx context.Context, k events.Pair, span Span, s Slice, strong bool) (
		Page[events.PostingRecorded], error)
	// HoldsOf lists the holds that have legs on an account, newest first. status "" selects all of them.
	HoldsOf(ctx context.Context, account, status string, s Slice) (Page[Hold], error)
	// OpenHolds lists all open holds in the order of their expiry. Positions are the time of expiry, as
	// events.FormatTime writes it, a # and the id. A page may be short. It makes one request for each partition of the
	// list, and one for each hundred holds.
	OpenHolds(ctx context.Context, s Slice) (Page[Hold], error)
	// Holders lists the balances of an asset by account. It makes one request, and one more for each 33 balances.
	Holders(ctx context.Context, asset string, s Slice) (Page[Holding], error)
	// Assets lists the assets whose ids have a prefix, by id.
	Assets(ctx context.Context, prefix string, s Slice) (Page[events.AssetRegistered], error)
	// Accounts lists the accounts whose ids have a prefix, by id. An account that never changed comes without its
	// profile. It makes two requests.
	Accounts(ctx context.Context, prefix string, s Slice) (Page[Holder], error)
	// Changes lists the versions of an account, newest first; positions are their numbers. It is strongly consistent,
	// and makes a second request for the opening.
	Changes(ctx context.Context, account string, s Slice) (Page[AccountVersion], error)
	// ReversalsOf lists the reversals of a transaction, oldest first; positions are their numbers. It is strongly
	// consistent, and makes two requests.
	ReversalsOf(ctx context.Context, transaction string, s Slice) (Page[Reversal], error)
	// Transactions lists transactions by time. Positions are the KSUID of the first leg, a # and the id. It makes one
	// request for each partition of the list (a metadata value has one), and one strongly consistent request for each
	// hundred items found. A page may be short.
	Transactions(ctx context.Context, by Search, s Slice) (Page[Transaction], error)
	// Members lists the current members of an account by user.
	Members(ctx context.Context, account string, s Slice) (Page[Membership], error)
	// AccountsOf lists the accounts that a user has a role on: first its own memberships, by account, then the accounts
	// of each of its groups, by group and account. An account may be listed several times. It makes two requests in
	// parallel, and then one for each group. A page reads only a few groups, and may be short.
	AccountsOf(ctx context.Context, user string, s Slice) (Page[AccountRole], error)

	// Groups lists the groups whose ids have a prefix, by id.
	Groups(ctx context.Context, prefix string, s Slice) (Page[events.GroupRegistered], error)
	// GroupMembers lists the current members of a group by user.
	GroupMembers(ctx context.Context, group string, s Slice) (Page[Membership], error)
	// GroupsOf lists the current memberships of a user by group.
	GroupsOf(ctx context.Context, user string, s Slice) (Page[Membership], error)
	// GroupAccounts lists the accounts of a group.
	GroupAccounts(ctx context.Context, group string, s Slice) (Page[GroupedAccount], error)
	// AccountGroups lists the groups of an account.
	AccountGroups(ctx context.Context, account string, s Slice) (Page[GroupedAccount], error)
	// GroupTotals adds up the group's next s.Limit balances, in the order of their accounts and assets, and returns the
	// totals by asset. The totals of all pages are those of the group; they are not a snapshot. A page reads at most
	// s.Limit accounts, and may be short, even empty. It makes one request, and at least one for each account. Errors:
	// also events.ErrOverflow.
	GroupTotals(ctx context.Context, group string, s Slice) (Page[Total], error)
}

// AccountRole is an account on which a user has a role.
type AccountRole struct {
	Membership        // Account is the account, also if the role is a group's
	Through    string // the group; "": the role is on the account itself
}

// Total is the sum of balances of a group's accounts in one asset.
type Total struct {
	Asset    string
	Accounts int // that hold or held it
	Fold         // Through is empty
}
