package ledger

import (
	"time"

	"ledger.example/events"
)

// RegisterAsset asks that an asset be registered.
type RegisterAsset struct {
	ID          string // see events.ValidID
	Name        string // 1 to events.NameChars characters
	Description string // at most events.DescriptionChars characters
	Scale       int    // decimal places, 0 to events.ScaleMax
	Currency    string // id of the asset that costs are counted in; "" for none
	Actor       string // who asks, 1 to events.ActorChars characters
}

// OpenAccount asks that an account be opened.
type OpenAccount struct {
	ID        string // see events.ValidID
	Name      string // at most events.NameChars characters
	Profile   string // a JSON object of at most events.ProfileBytes bytes when compact; "" for none
	Overdraft events.Overdraft
	Actor     string // who asks, 1 to events.ActorChars characters
}

// ChangeAccount asks that an account be another one from now on. What is nil stays as it is.
type ChangeAccount struct {
	ID        string
	Name      *string // these as in OpenAccount, each replaced as a whole
	Profile   *string
	Overdraft *events.Overdraft    // an account without a limit stays so, and one with limits has them
	State     *events.AccountState // events.StateClosed is final
	IfMatch   int64                // the version that the account must have; 0: any
	Actor     string               // who asks, 1 to events.ActorChars characters
}

// RegisterGroup asks that a group be registered.
type RegisterGroup struct {
	ID          string // see events.ValidID
	Name        string // at most events.NameChars characters
	Description string // at most events.DescriptionChars characters
	Actor       string // who asks, 1 to events.ActorChars characters
}

// GroupAccount asks that an account be in a group or, with Out, that it not be.
type GroupAccount struct {
	Group, Account string // ids
	Out            bool
	Actor          string // who asks, 1 to events.ActorChars characters
}

// GrantMember asks that a user have a role, on an account or in a group.
type GrantMember struct {
	Account, Group string // ids, one of them empty
	User           string // id
	Role           events.Role
	Actor          string // who asks, 1 to events.ActorChars characters
	By             Standing
}

// RevokeMember asks that a user have no role, on an account or in a group.
type RevokeMember struct {
	Account, Group string // ids, one of them empty
	User           string // id
	Actor          string // who asks, 1 to events.ActorChars characters
	By             Standing
}

// Standing is what gives a user the right to grant, as it was read: nothing is written if it is not the newest any
// more. The zero Standing is that of a service or an administrator, and relies on nothing.
type Standing struct {
	User   string // id of who grants
	Group  string // id of the group that gives the role; "": it was granted on the account itself
	Grant  int64  // number of their newest grant, on the account or in Group
	Groups int64  // with a grant on an account, and Group: number of the newest change of the account's groups
}

// next returns the events that would change what a user's right on an account, or "" for one in a group, relies on.
func (s Standing) next(account string) []events.Event {
	if s.User == "" {
		return nil
	}
	if s.Group == "" {
		return []events.Event{events.MemberGranted{Account: account, User: s.User, Number: s.Grant + 1}}
	}
	next := []events.Event{events.MemberGranted{Group: s.Group, User: s.User, Number: s.Grant + 1}}
	if account != "" {
		next = append(next, events.AccountGrouped{Account: account, Number: s.Groups + 1})
	}
	return next
}

// PostingRequest is one of PostTransaction, PostTransfer and PostTrade. Each stands for one transaction.
type PostingRequest interface {
	// Shape returns the fields whose value alone is at fault; nil when there are none.
	Shape() []FieldError
	// expand returns the transaction that the request stands for.
	expand() draft
}

// Annotation is what the three kinds of posting request have in common.
type Annotation struct {
	ID          string            // of the transaction, see events.ValidID; "" lets the ledger make one
	Description string            // at most events.DescriptionChars characters
	Metadata    map[string]string // at most events.MetadataPairs pairs and events.MetadataBytes bytes
	Actor       string            // who asks, 1 to events.ActorChars characters
	Hold        *HoldRequest      // place a hold; nil: post
	EffectiveAt *time.Time        // past instant to post for, not with Hold; nil: now
}

// HoldRequest asks that a transaction be a hold. Its answer is a transaction with ExpiresAt.
type HoldRequest struct {
	ExpiresAt *time.Time // after now, at most events.HoldDaysMax days ahead; nil: holdDays from now
}

// PostTransaction asks for a transaction of the given legs: events.PostingsMin to events.PostingsMax of them.
type PostTransaction struct {
	Annotation
	Postings []LegRequest
}

// LegRequest is one leg as asked for.
type LegRequest struct {
	Account, Asset string        // ids
	Quantity       events.Amount // signed, in the asset's smallest unit
	Cost           events.Amount // signed, in the smallest unit of the asset's currency
}

// PostTransfer asks to move a quantity of an asset from one account to another.
type PostTransfer struct {
	Annotation
	From, To, Asset string
	Quantity        events.Amount // above zero
}

// PostTrade asks for the everyday transaction: the buyer gets quantity and cost, the seller gives them. A trade that
// settles also moves the cost from buyer to seller, in the asset's currency.
type PostTrade struct {
	Annotation
	Asset, Buyer, Seller string
	Quantity             events.Amount // above zero
	Cost                 events.Amount // not negative
	Settle               bool
}

// BatchResult is the answer to one request of a batch: Posted, or why it was not.
type BatchResult struct {
	Posted Posted
	Err    *Error // nil: posted
}

// Posted is the answer to a posting request or a reversal.
type Posted struct {
	Transaction events.TransactionPosted
	Replayed    bool // an earlier request with this id and body had posted it
}

// Status returns what the transaction was when it was posted: StatusHeld or StatusPosted.
func (p Posted) Status() Status { return Life{Header: p.Transaction}.Status() }

// CaptureRequest asks to post what was held, in whole or in part. What is not captured is given back.
type CaptureRequest struct {
	Transaction string // id of the hold
	Part        Part
	Actor       string // who asks, 1 to events.ActorChars characters
}

// ReleaseRequest asks to give back all that was held.
type ReleaseRequest struct {
	Transaction string // id of the hold
	Description string // why, at most events.DescriptionChars characters
	Actor       string // who asks, 1 to events.ActorChars characters
}

// Ended is the answer to a request that ends a hold.
type Ended struct {
	Transaction events.TransactionPosted // the hold as it was placed
	End         events.HoldEnded         // its legs are what was posted
	Replayed    bool                     // an earlier request for the same end had ended it
}

// Status returns how the hold ended.
func (e Ended) Status() Status { return statusOf(e.End) }

// ReverseRequest asks for a transaction that takes back a part of another one: its legs are those of that transaction
// with the opposite signs, without those of nothing. It has no Hold.
type ReverseRequest struct {
	Annotation
	Transaction string // id of the transaction to reverse
	Part        Part   // with the signs of that transaction; nothing named: all that is left
}
