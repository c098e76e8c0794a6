package console

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// A field is one input of a form.
type field struct {
	Name, Label string
	// Kind is text, amount, signed (an amount), number, check, choice, day, lines (texts) or fixed (shown and sent, but
	// read-only).
	Kind     string
	List     string // what the field is the id of: accounts, assets or groups; "" for none
	Choices  []string
	Most     int // the maximum of a number; the minimum is 0
	Hint     string
	Value    string
	Optional bool

	isExtra bool   // few need it
	leg     int    // the number of the leg that it is about, 0 for none
	inPath  bool   // the value is in the path of the API's request, not in its body
	member  string // of the request's body, if it is not the name
	checked any    // the member's value if the field is checked
}

// Fields that several forms share.
var (
	assetField       = field{Name: "asset", Label: "Asset", List: "assets"}
	quantityField    = field{Name: "quantity", Label: "Quantity", Kind: "amount", Hint: "such as 12.50"}
	nameField        = field{Name: "name", Label: "Name", Optional: true}
	descriptionField = field{Name: "description", Label: "Description", Optional: true}
	fromField        = field{Name: "from", Label: "From", List: "accounts"}
	toField          = field{Name: "to", Label: "To", List: "accounts"}
	postedField      = field{Name: "transaction", Label: "Transaction", Kind: "fixed", inPath: true}
	idField          = field{Name: "id", Label: "Id", Hint: "1 to 64 letters, digits and . _ : @ -", inPath: true}
	accountField     = field{Name: "account", Label: "Account", List: "accounts"}
	groupField       = field{Name: "group", Label: "Group", List: "groups"}
	userField        = field{Name: "user", Label: "User", Hint: "the user id in your application"}
	roleField        = field{Name: "role", Label: "Role", Kind: "choice",
		Choices: []string{client.RoleViewer, client.RoleOperator, client.RoleOwner},
		Hint:    "A viewer reads, an operator also posts, an owner also grants roles."}
	termField = field{Name: "hold", Label: "Expires in", Kind: "choice", Choices: termNames, Value: "7 days",
		Hint: "counted from when this form was opened"}
	holdField = field{Name: "hold", Label: "Hold for", Kind: "choice", Value: noHold,
		Choices: append([]string{noHold}, termNames...), Hint: "no: post at once"}
	partField = field{Name: "quantity", Label: "Quantity", Kind: "amount", Optional: true,
		Hint: "empty: all that is left"}
	metadataField = field{Name: "metadata", Label: "Metadata", Kind: "lines", Optional: true, isExtra: true,
		Hint: "one on each line, such as order=1001"}
	tagsField = field{Name: metadataField.Name, Label: metadataField.Label, Kind: "lines", Optional: true,
		Hint: "one on each line, such as tier=gold; none for none"}
	ownIDField = field{Name: "id", Label: "Own id", Optional: true, isExtra: true,
		Hint: "of the transaction; without it, the console makes one"}
	dayField = field{Name: "effective_at", Label: "Effective date", Kind: "day", Optional: true, isExtra: true,
		Hint: "an earlier day: the posting counts from its beginning"}
	portionsField = field{Name: "to", Label: "Who gets what", Kind: "lines",
		Hint: "one on each line, such as fees=2.9%+0.30, tax=19/119, tips=5.00, shop=rest or ann=rest:2"}
	sourcesField = field{Name: "from", Label: "From", Kind: "lines",
		Hint: "one on each line, in order, such as giftcard:88, or with what it keeps: wallet:ida 5.00"}
	mostField = field{Name: "up_to", Label: "At most", Kind: "amount", Value: string(client.All),
		Hint: "such as 12.50, or all"}
	keepField = field{Name: "keep", Label: "Keep", Kind: "amount", Optional: true,
		Hint: "what stays; below zero, so much of the overdraft may be used"}
	leastField = field{Name: "at_least", Label: "At least", Kind: "amount", Optional: true,
		Hint: "otherwise nothing is moved"}
	limitsField = field{Name: "limits", Label: "Overdraft limits", Kind: "lines", Optional: true, member: "overdraft",
		Hint: "one on each line, such as 500.00 USD; none for none"}
	ratesField = field{Name: "rates", Label: "Limits over time", Kind: "lines", Optional: true,
		Hint: "one on each line, such as EUR:500.00/day@Europe/Berlin, or week or month; none for none"}
	partCostField = field{Name: "cost", Label: "Cost", Kind: "amount", Optional: true, Hint: "for part of a trade"}
)

// noHold is the choice that posts a trade without a hold.
const noHold = "no"

// terms are the offered durations of a hold. The API accepts up to 31 days.
var (
	termNames = []string{"1 hour", "1 day", "7 days", "30 days"}
	terms     = map[string]time.Duration{
		"1 hour": time.Hour, "1 day": 24 * time.Hour, "7 days": 7 * 24 * time.Hour, "30 days": 30 * 24 * time.Hour,
	}
)

// An action is one form of the console, and the request of the API that it sends: a command, a request about a
// transaction, or what send does.
type action struct {
	Title, Verb string
	Fields      []field
	HasID       bool // the form carries the id of the transaction to post, so submitting it twice posts once
	HasLegs     bool // the form has rows of legs
	Partial     bool // the action can be limited to part of a transaction
	Note        string

	command client.Kind
	about   func(transaction string, body []byte) (client.Request, error)
	send    func(v *visit, f *form) (path string, err error) // returns the path of the page to show next
	look    func(v *visit, f *form) error                    // fills in the preview of what has no dry run
}

// isDry reports whether the API has a dry run for the action, which is then its preview.
func (a action) isDry() bool { return a.HasID || a.about != nil }

// about returns a function that reads the body of a request about a transaction.
func about[T client.Request](of func(transaction string) T) func(string, []byte) (client.Request, error) {
	return func(transaction string, body []byte) (client.Request, error) {
		request := of(transaction)
		err := json.Unmarshal(body, &request)
		return request, err
	}
}

// settable returns the fields of a form that registers a resource. special are those that need more than their label.
func settable[T any](_ client.Op[T, T], special ...field) []field {
	fields := []field{idField}
	for _, f := range client.FieldsOf(reflect.TypeFor[T]()) {
		i := slices.IndexFunc(special, func(s field) bool { return s.Name == f.JSON })
		switch {
		case i >= 0:
			fields = append(fields, special[i])
		case f.IsSettable():
			fields = append(fields, field{Name: f.JSON, Label: f.Label(), Optional: !f.IsAlwaysRequired()})
		}
	}
	return fields
}

// annotated returns the fields of a form that posts: some, then the rest of an annotation, and the own id.
func annotated(fields ...field) []field {
	for _, f := range client.FieldsOf(reflect.TypeFor[client.Annotation]()) {
		switch f.JSON {
		case descriptionField.Name:
		case metadataField.Name:
			fields = append(fields, metadataField)
		default:
			fields = append(fields, field{Name: f.JSON, Label: f.Label(), Optional: true, isExtra: true})
		}
	}
	return append(fields, ownIDField)
}

// texts returns the texts of a resource or an annotation that requests set: each with its label unless it is a name or
// a description.
func texts(resource any) (all []field) {
	v := reflect.ValueOf(resource)
	for _, f := range client.FieldsOf(v.Type()) {
		text, isText := v.FieldByIndex(f.Index).Interface().(string)
		if !isText || text == "" || !f.IsSettable() || f.Is() == "ID" {
			continue
		}
		one := field{Value: text}
		if f.JSON != "name" && f.JSON != "description" {
			one.Label = f.Label()
		}
		all = append(all, one)
	}
	return all
}

// actions has all actions by their name in the URL path.
var actions = map[string]action{
	"transfer": {
		Title: "Transfer", Verb: "Post", HasID: true, command: client.KindTransfer,
		Fields: annotated(fromField, toField, assetField, quantityField, descriptionField, dayField),
	},
	"sweep": {
		Title: "Move as much as fits", Verb: "Post", HasID: true, command: client.KindTransfer,
		Fields: annotated(fromField, toField, assetField, mostField, keepField, leastField, descriptionField,
			holdField),
		Note: "The ledger decides the quantity when it is posted. The preview shows what it would be now.",
	},
	"split": {
		Title: "Split", Verb: "Post", HasID: true, command: client.KindSplit,
		Fields: annotated(fromField, quantityField, assetField, portionsField, descriptionField, holdField, dayField),
		Note:   "Each share is rounded half up. What is left is divided among those who get the rest.",
	},
	"collect": {
		Title: "Split as much as fits", Verb: "Post", HasID: true, command: client.KindSplit,
		Fields: annotated(sourcesField, assetField, mostField, leastField, portionsField, descriptionField, holdField),
		Note: "An account gives when those before it are used up. The ledger decides the quantities as it posts. " +
			"The preview shows what they would be now.",
	},
	"legs": {
		Title: "Several legs", Verb: "Post", HasID: true, HasLegs: true, command: client.KindTransaction,
		Fields: annotated(descriptionField, holdField, dayField),
		Note: "Debits are negative. The quantities of each asset sum to zero, and so do the costs. " +
			"Empty rows are ignored.",
	},
	"trade": {
		Title: "Trade", Verb: "Post", HasID: true, command: client.KindTrade,
		Fields: annotated(assetField, field{Name: "buyer", Label: "Buyer", List: "accounts"},
			field{Name: "seller", Label: "Seller", List: "accounts"}, quantityField,
			field{Name: "cost", Label: "Cost", Kind: "amount", Hint: "in the asset's currency; 0 for a gift"},
			field{Name: "settle", Label: "Also move the cash", Kind: "check", Optional: true, checked: true},
			descriptionField, holdField, dayField),
	},
	"hold": {
		Title: "Place a hold", Verb: "Hold", HasID: true, command: client.KindTransfer,
		Fields: annotated(fromField, toField, assetField, quantityField, descriptionField, termField),
		Note:   "The amount is reserved until the hold is captured, is released or expires.",
	},
	"capture": {
		Title: "Capture a hold", Verb: "Capture", Partial: true,
		about:  about(func(id string) client.Capture { return client.Capture{Transaction: id} }),
		Fields: []field{postedField, partField, partCostField},
		Note:   "You can capture less than was held. The rest of the hold is released.",
	},
	"release": {
		Title: "Release a hold", Verb: "Release", Fields: []field{postedField, descriptionField},
		about: about(func(id string) client.Release { return client.Release{Transaction: id} }),
		Note:  "The full amount becomes available again.",
	},
	"reverse": {
		Title: "Reverse a transaction", Verb: "Reverse", HasID: true, Partial: true,
		about:  about(func(id string) client.Reversal { return client.Reversal{Transaction: id} }),
		Fields: annotated(postedField, partField, partCostField, descriptionField, dayField),
	},
	"account": {
		Title: "Open an account", Verb: "Open", command: client.KindAccount,
		Fields: []field{idField, nameField,
			{Name: "unlimited", Label: "Unlimited overdraft", Kind: "check", Optional: true, member: "overdraft",
				checked: client.Overdraft{Unlimited: true},
				Hint:    "For issuers and the outside world. It cannot be changed later."},
			limitsField, ratesField, tagsField},
	},
	"change": {
		Title: "Change an account", Verb: "Change", command: client.KindChange,
		Fields: []field{{Name: "account", Label: "Account", Kind: "fixed", inPath: true}, nameField, limitsField,
			ratesField, tagsField},
		Note: "What you leave blank stays as it is.",
	},
	"asset": {
		Title: "Register an asset", Verb: "Register", command: client.KindAsset,
		Fields: settable(client.RegisterAsset,
			field{Name: "scale", Label: "Decimal places", Kind: "number", Most: events.ScaleMax, Value: "2",
				Hint: "2 for most currencies"},
			field{Name: "currency", Label: "Currency of costs", Optional: true, List: "assets",
				Hint: "the asset that costs are in, for shares and goods"}),
		Note: "An asset cannot be changed later.",
	},
	"state": {
		Title: "Freeze, open or close an account", Verb: "Change", command: client.KindChange,
		Fields: []field{{Name: "account", Label: "Account", Kind: "fixed", inPath: true},
			{Name: "state", Label: "State", Kind: "choice",
				Choices: []string{client.StateFrozen, client.StateOpen, client.StateClosed}}},
		Note: "A frozen account cannot be debited. A closed account stays closed.",
	},
	"group": {
		Title: "Register a group", Verb: "Register", command: client.KindGroup, Fields: settable(client.RegisterGroup),
		Note: "A group cannot be changed later.",
	},
	"group-add": groupChange("Add an account to a group", "Add", "Members of the group get their role on the account.",
		(*client.Client).PutInGroup),
	"group-remove": groupChange("Remove an account from a group", "Remove",
		"Members of the group lose that role on the account.", (*client.Client).TakeOutOfGroup),
	"grant-account": roleChange("Grant a role on an account", "Grant", replaces, (*client.Client).Grant,
		accountField, userField, roleField),
	"grant-group": roleChange("Grant a role in a group", "Grant", replaces, (*client.Client).Grant,
		groupField, userField, roleField),
	"revoke-account": roleChange("Revoke a role on an account", "Revoke", "Roles through groups stay.",
		(*client.Client).Revoke, accountField, userField),
	"revoke-group": roleChange("Revoke a role in a group", "Revoke",
		"The user loses the role on all accounts of the group.", (*client.Client).Revoke, groupField, userField),
	"close-books": booksAction("Close the books", "Close",
		"Nothing can be posted with an effective date in a closed period. All else is of now, and passes.",
		throughField),
	"open-books": booksAction("Open closed books again", "Open",
		"Postings with an effective date from this day on are taken again. The closing stays in the list.", openField),
}

const replaces = "A user has one role per account or group. This role replaces it."
