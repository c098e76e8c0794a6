package ledger

import (
	"time"

	"ledger.example/events"
)

// RegisterAsset asks for the event. At is ignored, as in the other requests that have an event's fields.
type RegisterAsset events.AssetRegistered

// OpenAccount asks for the event. Profile may be any JSON object of at most events.ProfileBytes bytes when compact, and
// empty for none.
type OpenAccount events.AccountOpened

// ChangeAccount asks to change an account. Fields that are nil stay unchanged.
type ChangeAccount struct {
	ID        string
	Name      *string // as in OpenAccount, like Profile and Overdraft; the new value replaces the old one
	Profile   *string
	Overdraft *events.Overdraft // cannot become unlimited, or cease to be
	Metadata  *map[string]string
	Rates     *[]events.Rate       // not of an unlimited account
	State     *events.AccountState // events.StateClosed is final
	IfMatch   int64                // the version that the account must have; 0 for any
	Actor     string               // who sends the request, 1 to events.ActorChars characters
}

// RegisterGroup asks for the event.
type RegisterGroup events.GroupRegistered

// GroupAccount asks that an account be in a group or, with Out, that it not be.
type GroupAccount struct {
	Group, Account string // ids
	Out            bool
	Actor          string // who sends the request, 1 to events.ActorChars characters
}

// GrantMember asks that a user have a role, on an account or in a group.
type GrantMember struct {
	Account, Group string // ids, one of them empty
	User           string // id
	Role           events.Role
	Actor          string // who sends the request, 1 to events.ActorChars characters
	By             Authority
	IfAbsent       bool // only if the user has no role there
}

// RevokeMember asks that a user have no role. Role is ignored.
type RevokeMember GrantMember

// Authority names the grants that give a user the right to grant, with their numbers. Nothing is written if one of them
// has changed since it was read. The zero Authority is that of a service or an administrator, whose right needs no
// grant.
type Authority struct {
	User   string // id of the user who grants
	Group  string // id of the group that gives the role; "" for a grant on the account itself
	Grant  int64  // number of the user's newest grant, on the account or in Group
	Groups int64  // if Group gives a role on an account: number of the newest change of the account's groups
}

// next returns the events that would change the user's right: on an account, or on the group itself if account is "".
func (s Authority) next(account string) []events.Event {
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

// Request is one of PostTransaction, PostTransfer, PostTrade, PostSplit and ReverseRequest, which ask for a
// transaction, and of CaptureRequest and ReleaseRequest, which end a hold.
type Request interface {
	// Shape returns the fields that are invalid by themselves; nil if there are none.
	Shape() []FieldError
	// expand returns the transaction, or the end of a hold, that the request asks for.
	expand() draft
}

// Annotation has the fields that all requests for a transaction have in common.
type Annotation struct {
	ID string // of the transaction, see events.ValidID; "" for a generated id
	events.Annotation
	Actor       string       // who sends the request, 1 to events.ActorChars characters
	Hold        *HoldRequest // place a hold; nil to post
	EffectiveAt *time.Time   // effective date, at least EffectiveAge ago, not with Hold; nil for now
	// DryRun checks the request against what is stored, and writes nothing. The answer or the error is that of the real
	// request, without KSUIDs and without a generated id. Nothing is reserved: the real request may be refused later.
	DryRun bool
}

// HoldRequest asks that a transaction be a hold. Its answer is a transaction with ExpiresAt.
type HoldRequest struct {
	ExpiresAt *time.Time // in the future, at most events.HoldDaysMax days ahead; nil for holdDays from now
}

// PostTransaction asks for a transaction of the given legs: events.PostingsMin to events.PostingsMax of them.
type PostTransaction struct {
	Annotation
	Postings []LegRequest
}

// LegRequest is one leg of a request.
type LegRequest struct {
	Account, Asset string        // ids
	Quantity       events.Amount // signed, in the asset's smallest unit
	Cost           events.Amount // signed, in the smallest unit of the asset's currency
}

// PostTransfer asks to move a quantity of an asset from one account to another.
type PostTransfer struct {
	Annotation
	From, To, Asset string
	Quantity        events.Amount // above zero; ignored with Fit
	Fit             *Fit          // as much as fits; nil for Quantity
}

// PostTrade asks for a trade: the buyer gets quantity and cost, the seller gives them. A trade with Settle also moves
// the cost from buyer to seller, in the asset's currency.
type PostTrade struct {
	Annotation
	Asset, Buyer, Seller string
	Quantity             events.Amount // above zero
	Cost                 events.Amount // not negative
	Settle               bool
}

// BatchResult is the answer to one request of a batch: Posted if Err is nil.
type BatchResult struct {
	Posted Posted
	Err    *Error
}

// Posted is the answer to a request: the transaction as it was posted, or a hold as it was placed, with its end if the
// request ended it.
type Posted struct {
	events.Transaction
	Replayed bool // carried out before, by an earlier request for the same
}

// CaptureRequest asks to post all or a part of a hold, and to give back the rest. It needs no funds, because the hold
// reserved them.
type CaptureRequest struct {
	Transaction string // id of the hold
	Part        Part
	Actor       string // who sends the request, 1 to events.ActorChars characters
	DryRun      bool   // see Annotation
}

// ReleaseRequest asks to give back a whole hold, also after its time of expiry.
type ReleaseRequest struct {
	Transaction string // id of the hold
	Description string // why, at most events.DescriptionChars characters
	Actor       string // who sends the request, 1 to events.ActorChars characters
	DryRun      bool   // see Annotation
}

// ReverseRequest asks for a transaction that reverses another one, in whole or in part: its legs have the opposite
// signs, and zero legs are omitted. All reversals of a transaction together reverse at most the posted amounts. A
// reversal needs funds like any other debit. It cannot have a Hold.
type ReverseRequest struct {
	Annotation
	Transaction string // id of the transaction to reverse
	Part        Part   // with the signs of that transaction
}
