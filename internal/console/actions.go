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
	Kind        string // text, amount, number, check, choice or fixed (shown and sent, but read-only)
	Choices     []string
	Most        int // the maximum of a number; the minimum is 0
	Hint        string
	Value       string
	Optional    bool
}

// Fields that several forms share.
var (
	assetField       = field{Name: "asset", Label: "Asset"}
	quantityField    = field{Name: "quantity", Label: "Quantity", Kind: "amount", Hint: "such as 12.50"}
	descriptionField = field{Name: "description", Label: "Description", Optional: true}
	fromField        = field{Name: "from", Label: "From"}
	toField          = field{Name: "to", Label: "To"}
	postedField      = field{Name: "transaction", Label: "Transaction", Kind: "fixed"}
	idField          = field{Name: "id", Label: "Id", Hint: "1 to 64 letters, digits and . _ : @ -"}
)

// An action is one form of the console. It has either request or send.
type action struct {
	Title, Verb string
	Fields      []field
	HasID       bool // the form carries the id of the transaction to post, so submitting it twice posts once
	Partial     bool // the action can be limited to part of a transaction
	Note        string

	// request returns the request to post. Its dry run is the preview.
	request func(ctx context.Context, c *Console, v url.Values) (client.Post, error)
	// send carries out an action that the API has no dry run for.
	send sender
}

// sender carries out an action and returns the path of the page to show next.
type sender func(ctx context.Context, c *Console, v url.Values) (path string, err error)

// actions has all actions by their name in the URL path.
var actions = map[string]action{
	"transfer": {
		Title: "Transfer", Verb: "Post", HasID: true, request: transfer,
		Fields: []field{fromField, toField, assetField, quantityField, descriptionField},
	},
	"trade": {
		Title: "Trade", Verb: "Post", HasID: true, request: trade,
		Fields: []field{assetField, {Name: "buyer", Label: "Buyer"}, {Name: "seller", Label: "Seller"}, quantityField,
			{Name: "cost", Label: "Cost", Kind: "amount", Hint: "in the asset's currency; 0 for a gift"},
			{Name: "settle", Label: "Also move the cash", Kind: "check", Optional: true},
			descriptionField, holdField},
	},
	"capture": {
		Title: "Capture a hold", Verb: "Capture", Partial: true, request: capture,
		Fields: []field{postedField, partField, partCostField},
		Note:   "The rest of the hold is released.",
	},
	"release": {
		Title: "Release a hold", Verb: "Release", Fields: []field{postedField, descriptionField}, request: release,
		Note: "The full amount becomes available again.",
	},
	"reverse": {
		Title: "Reverse a transaction", Verb: "Reverse", HasID: true, Partial: true, request: reverse,
		Fields: []field{postedField, partField, partCostField, descriptionField},
	},
	"account": {
		Title: "Open an account", Verb: "Open", send: openAccount,
		Fields: []field{idField, {Name: "name", Label: "Name", Optional: true},
			{Name: "unlimited", Label: "Unlimited overdraft", Kind: "check", Optional: true,
				Hint: "For issuers and the outside world. It cannot be changed later."}},
	},
	"asset": {
		Title: "Register an asset", Verb: "Register", send: registerAsset,
		Fields: []field{idField, {Name: "name", Label: "Name"},
			{Name: "scale", Label: "Decimal places", Kind: "number", Most: events.ScaleMax, Value: "2",
				Hint: "2 for most currencies"},
			{Name: "currency", Label: "Currency of costs", Optional: true,
				Hint: "the asset that costs are in, for shares and goods"},
			descriptionField},
		Note: "An asset cannot be changed later.",
	},
	"state": {
		Title: "Freeze, open or close an account", Verb: "Change", send: changeState,
		Fields: []field{{Name: "account", Label: "Account", Kind: "fixed"},
			{Name: "state", Label: "State", Kind: "choice",
				Choices: []string{client.StateFrozen, client.StateOpen, client.StateClosed}}},
		Note: "A frozen account cannot be debited. A closed account stays closed.",
	},
	"hold": {
		Title: "Place a hold", Verb: "Hold", HasID: true, request: transfer,
		Fields: []field{fromField, toField, assetField, quantityField, descriptionField, termField},
		Note:   "The amount is reserved until the hold is captured, is released or expires.",
	},
	"group": {
		Title: "Register a group", Verb: "Register", send: registerGroup, Note: "A group cannot be changed later.",
		Fields: []field{idField, {Name: "name", Label: "Name", Optional: true}, descriptionField},
	},
	"group-add": {
		Title: "Add an account to a group", Verb: "Add", send: groupChange((*client.Client).PutInGroup),
		Fields: []field{groupField, accountField}, Note: "Members of the group get their role on the account.",
	},
	"group-remove": {
		Title: "Remove an account from a group", Verb: "Remove", send: groupChange((*client.Client).TakeOutOfGroup),
		Fields: []field{groupField, accountField}, Note: "Members of the group lose that role on the account.",
	},
	"grant-account": {
		Title: "Grant a role on an account", Verb: "Grant", send: roleChange((*client.Client).Grant), Note: replaces,
		Fields: []field{accountField, userField, roleField},
	},
	"grant-group": {
		Title: "Grant a role in a group", Verb: "Grant", send: roleChange((*client.Client).Grant), Note: replaces,
		Fields: []field{groupField, userField, roleField},
	},
	"revoke-account": {
		Title: "Revoke a role on an account", Verb: "Revoke", send: roleChange((*client.Client).Revoke),
		Fields: []field{accountField, userField}, Note: "Roles through groups stay.",
	},
	"revoke-group": {
		Title: "Revoke a role in a group", Verb: "Revoke", send: roleChange((*client.Client).Revoke),
		Fields: []field{groupField, userField}, Note: "The user loses the role on all accounts of the group.",
	},
}

const replaces = "A user has one role per account or group. This role replaces it."

var (
	partField = field{Name: "quantity", Label: "Quantity", Kind: "amount", Optional: true,
		Hint: "leave empty for the full amount"}
	partCostField = field{Name: "cost", Label: "Cost", Kind: "amount", Optional: true, Hint: "for part of a trade"}
)
