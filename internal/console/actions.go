package console

import (
	"context"
	"net/url"

	"ledger.example/client"
	"ledger.example/events"
)

// A field is one input of a form.
type field struct {
	Name, Label string
	Kind        string // text, amount, number, check, choice, or fixed: shown and sent, not changed
	Choices     []string
	Most        int // of a number, which is whole and not negative
	Hint        string
	Value       string
	Optional    bool
}

// The fields that several forms have.
var (
	assetField       = field{Name: "asset", Label: "Asset"}
	quantityField    = field{Name: "quantity", Label: "Quantity", Kind: "amount", Hint: "such as 12.50"}
	descriptionField = field{Name: "description", Label: "Description", Optional: true}
	fromField        = field{Name: "from", Label: "From"}
	toField          = field{Name: "to", Label: "To"}
	postedField      = field{Name: "transaction", Label: "Transaction", Kind: "fixed"}
	idField          = field{Name: "id", Label: "Id", Hint: "1 to 64 letters, digits and . _ : @ -"}
)

// An action is something that people may do. Either request or send carries it out.
type action struct {
	Title, Verb string
	Fields      []field
	HasID       bool // of the transaction that it posts: it is made with the form, so that sending twice posts once
	Partial     bool // it may take a part of a transaction
	Note        string

	// request returns what to post. What it would be answered is shown before it is sent.
	request func(ctx context.Context, c *Console, v url.Values) (client.Post, error)
	// send writes what the API has no dry run of, and returns where to go then.
	send sender
}

// sender is how an action without a dry run is sent.
type sender func(ctx context.Context, c *Console, v url.Values) (path string, err error)

// actions are all that people may do, by the name in the path. The API has no dry run of those that are sent.
var actions = map[string]action{
	"transfer": {
		Title: "Transfer", Verb: "Post", HasID: true, request: transfer,
		Fields: []field{fromField, toField, assetField, quantityField, descriptionField},
	},
	"trade": {
		Title: "Trade", Verb: "Post", HasID: true, request: trade,
		Fields: []field{assetField, {Name: "buyer", Label: "Buyer"}, {Name: "seller", Label: "Seller"}, quantityField,
			{Name: "cost", Label: "Cost", Kind: "amount", Hint: "in the asset's currency; 0 for a gift"},
			{Name: "settle", Label: "Move the cash as well", Kind: "check", Optional: true},
			descriptionField, holdField},
	},
	"capture": {
		Title: "Capture a hold", Verb: "Capture", Partial: true, request: capture,
		Fields: []field{postedField, partField, partCostField},
		Note:   "What is not captured is given back.",
	},
	"release": {
		Title: "Release a hold", Verb: "Release", Fields: []field{postedField, descriptionField}, request: release,
		Note: "All that is held is given back.",
	},
	"reverse": {
		Title: "Reverse a transaction", Verb: "Reverse", HasID: true, Partial: true, request: reverse,
		Fields: []field{postedField, partField, partCostField, descriptionField},
	},
	"account": {
		Title: "Open an account", Verb: "Open", send: openAccount,
		Fields: []field{idField, {Name: "name", Label: "Name", Optional: true},
			{Name: "unlimited", Label: "May owe without limit", Kind: "check", Optional: true,
				Hint: "For issuers and the outside world. It cannot be changed later."}},
	},
	"asset": {
		Title: "Register an asset", Verb: "Register", send: registerAsset,
		Fields: []field{idField, {Name: "name", Label: "Name"},
			{Name: "scale", Label: "Decimal places", Kind: "number", Most: events.ScaleMax, Value: "2",
				Hint: "2 for most currencies"},
			{Name: "currency", Label: "Currency of costs", Optional: true, Hint: "another asset, for shares and goods"},
			descriptionField},
		Note: "An asset cannot be changed later.",
	},
	"state": {
		Title: "Freeze, open or close an account", Verb: "Change", send: changeState,
		Fields: []field{{Name: "account", Label: "Account", Kind: "fixed"},
			{Name: "state", Label: "State", Kind: "choice",
				Choices: []string{client.StateFrozen, client.StateOpen, client.StateClosed}}},
		Note: "A frozen account cannot pay. A closed one stays closed.",
	},
	"hold": { // its page has the capture and the release
		Title: "Hold money", Verb: "Hold", HasID: true, request: transfer,
		Fields: []field{fromField, toField, assetField, quantityField, descriptionField, termField},
		Note:   "The money is set aside until the hold is captured or released, or expires.",
	},
	"group": {
		Title: "Register a group", Verb: "Register", send: registerGroup, Note: "A group cannot be changed later.",
		Fields: []field{idField, {Name: "name", Label: "Name", Optional: true}, descriptionField},
	},
	"group-add": {
		Title: "Put an account into a group", Verb: "Put it in", send: place((*client.Client).PutInGroup),
		Fields: []field{groupField, accountField}, Note: "The members of the group get their role on the account.",
	},
	"group-remove": {
		Title: "Take an account out of a group", Verb: "Take it out", send: place((*client.Client).TakeOutOfGroup),
		Fields: []field{groupField, accountField}, Note: "The members of the group lose their role on the account.",
	},
	"grant-account": {
		Title: "Grant a role on an account", Verb: "Grant", send: member((*client.Client).Grant), Note: replaces,
		Fields: []field{accountField, userField, roleField},
	},
	"grant-group": {
		Title: "Grant a role in a group", Verb: "Grant", send: member((*client.Client).Grant), Note: replaces,
		Fields: []field{groupField, userField, roleField},
	},
	"revoke-account": {
		Title: "Revoke a role on an account", Verb: "Revoke", send: member((*client.Client).Revoke),
		Fields: []field{accountField, userField}, Note: "What the user may through a group stays.",
	},
	"revoke-group": {
		Title: "Revoke a role in a group", Verb: "Revoke", send: member((*client.Client).Revoke),
		Fields: []field{groupField, userField}, Note: "The user loses the role on all accounts of the group.",
	},
}

const replaces = "A user has one role there. This one replaces any other."

var (
	partField     = field{Name: "quantity", Label: "Quantity", Kind: "amount", Optional: true, Hint: "empty: all of it"}
	partCostField = field{Name: "cost", Label: "Cost", Kind: "amount", Optional: true, Hint: "of a part of a trade"}
)
