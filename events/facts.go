package events

import "time"

// An Event is one of the immutable facts of this package.
type Event interface {
	// EventName returns the name and the version under which the fact is stored, such as "PostingRecorded", 1.
	EventName() (name string, version int)
}

// AssetRegistered: something that can be counted was named. Never changed.
type AssetRegistered struct {
	ID          string    // 1 to 64 characters of the id alphabet; set by the caller
	Name        string    // 1 to 256 characters
	Description string    // 0 to 256 characters
	Scale       int       // decimal places, 0 to 18
	Currency    string    // id of the asset that costs are counted in; "": costs must be zero
	Actor       string    // who registered it
	At          time.Time // UTC, whole microseconds; set by the command
}

// AccountOpened: a holder was named. Never changed.
type AccountOpened struct {
	ID        string
	Name      string    // 0 to 256 characters
	Profile   string    // a JSON object in compact form, "{}" when none was given; at most 4 KB
	Overdraft Overdraft // how far below zero its balances may go
	Actor     string
	At        time.Time
}

// Overdraft is an account's policy: not at all (the zero value), unlimited, or an amount for each asset.
type Overdraft struct {
	Unlimited bool
	Limits    map[string]Amount // asset to amount, not negative; nil unless given. An asset absent here has limit 0
}

// TransactionPosted is the header of a transaction: it carries all its legs.
type TransactionPosted struct {
	ID          string
	Kind        Kind
	Description string            // 0 to 256 characters
	Metadata    map[string]string // never nil; at most 20 pairs
	Legs        []Leg             // 2 to 48, in the order of the request, KSUIDs increasing
	Fingerprint string            // of the request: "1:" and a hash; the number is the version of the rule
	Actor       string
}

// PostedAt returns the one instant in the KSUIDs of all legs.
func (t TransactionPosted) PostedAt() time.Time { return t.Legs[0].ID.Time() }

// Kind says which request made a transaction.
type Kind string

// The kinds of transaction.
const (
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
)

// Leg is one posting as its header carries it.
type Leg struct {
	ID       KSUID
	Account  string
	Asset    string
	Quantity Amount // signed minor units of the asset, at most 28 digits
	Cost     Amount // signed minor units of the asset's currency, at most 28 digits
}

// PostingRecorded is one leg of a transaction as an item of its own, in its account's partition.
type PostingRecorded struct {
	Leg
	Transaction string // id of its header
	Kind        Kind
	Description string
}

// Postings returns the legs of t as items of their own.
func (t TransactionPosted) Postings() []PostingRecorded {
	postings := make([]PostingRecorded, len(t.Legs))
	for i, leg := range t.Legs {
		postings[i] = PostingRecorded{Leg: leg, Transaction: t.ID, Kind: t.Kind, Description: t.Description}
	}
	return postings
}

// MemberGranted: a user was given a role on an account.
type MemberGranted struct {
	Account string
	User    string
	Role    Role
	Number  int64 // 1 for the first grant or revocation of this user on this account, then the next
	Actor   string
	At      time.Time
}

// MemberRevoked: a user's role on an account was taken away.
type MemberRevoked struct {
	Account string
	User    string
	Number  int64
	Actor   string
	At      time.Time
}

// Role is what a member may do.
type Role string

// The roles.
const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // also posts
	RoleOwner    Role = "owner"    // also grants
)

// EventName implements Event.
func (AssetRegistered) EventName() (string, int) { return "AssetRegistered", 1 }

// EventName implements Event.
func (AccountOpened) EventName() (string, int) { return "AccountOpened", 1 }

// EventName implements Event.
func (TransactionPosted) EventName() (string, int) { return "TransactionPosted", 1 }

// EventName implements Event.
func (PostingRecorded) EventName() (string, int) { return "PostingRecorded", 1 }

// EventName implements Event.
func (MemberGranted) EventName() (string, int) { return "MemberGranted", 1 }

// EventName implements Event.
func (MemberRevoked) EventName() (string, int) { return "MemberRevoked", 1 }
