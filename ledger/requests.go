package ledger

import "ledger.example/events"

// RegisterAsset asks that an asset be registered.
type RegisterAsset struct {
	ID, Name, Description string
	Scale                 int
	Currency              string // "" for none
	Actor                 string
}

// OpenAccount asks that an account be opened.
type OpenAccount struct {
	ID, Name  string
	Profile   string // a JSON object in compact form; "" or "{}" for none
	Overdraft events.Overdraft
	Actor     string
}

// Annotation is what the three kinds of posting request share.
type Annotation struct {
	ID          string // "" lets the ledger make one
	Description string
	Metadata    map[string]string
	Actor       string
}

// PostTransaction asks for a transaction of the given legs.
type PostTransaction struct {
	Annotation
	Postings []LegRequest
}

// LegRequest is one leg as asked for.
type LegRequest struct {
	Account, Asset string
	Quantity, Cost events.Amount
}

// PostTransfer asks to move quantity of asset from one account to another: two legs, from and to.
type PostTransfer struct {
	Annotation
	From, To, Asset string
	Quantity        events.Amount
}

// PostTrade asks for the everyday transaction: buyer +quantity +cost, seller −quantity −cost, and when it settles, the
// cash legs buyer −cost, seller +cost in the asset's currency.
type PostTrade struct {
	Annotation
	Asset, Buyer, Seller string
	Quantity, Cost       events.Amount
	Settle               bool
}

// PostingRequest is one of PostTransaction, PostTransfer and PostTrade.
type PostingRequest interface {
	// Shape returns every field whose value alone is out of range or of a wrong pattern, in the order of the request (invalid_request).
	Shape() []FieldError
	// Rules returns nil, or what breaks the rules over several fields: CodeInvalidTransaction, else CodeUnbalanced.
	Rules() *Error

	kind() events.Kind
	annotation() Annotation
	// names returns every field that names an account, and every one that names an asset, in the order of the request.
	names() (accounts, assets []name)
	// costed returns every field that asks for something that only an asset with a currency allows.
	costed() []name
	// settlement returns the asset in whose currency the request settles, and whether it adds legs in it.
	settlement() (asset string, settles bool)
	// legs returns the legs that the request expands to, in their order. Those of its settlement are in currency,
	// and left out while that is "".
	legs(currency string) []LegRequest
	// canonical appends what the request asks for besides kind and annotation.
	canonical(c canonical) canonical
}

// Posted is the answer to a posting request.
type Posted struct {
	Transaction events.TransactionPosted
	Replayed    bool // it had been posted before, by an earlier request with this id and body
}

// GrantMember asks that user have role on account.
type GrantMember struct {
	Account, User string
	Role          events.Role
	Actor         string
}

// RevokeMember asks that user have no role on account.
type RevokeMember struct {
	Account, User string
	Actor         string
}
