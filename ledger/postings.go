package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ledger.example/events"
)

// name is a field of a request that names an account or asset.
type name struct {
	id    string
	field string
	leg   int // the index in postings, counted from one; 0: the field stands at the top
}

// path returns the field as the caller wrote it.
func (n name) path() string {
	if n.leg == 0 {
		return n.field
	}
	return legField(n.leg-1) + "." + n.field
}

func legField(i int) string { return "postings[" + strconv.Itoa(i) + "]" }

func (a Annotation) annotation() Annotation { return a }

func (f *faults) transactionID(a Annotation) {
	if a.ID != "" {
		f.id("id", a.ID)
	}
}

func (f *faults) notes(a Annotation) {
	f.text("description", a.Description, 0, events.DescriptionChars)
	if len(a.Metadata) > events.MetadataPairs {
		f.add("metadata", "must have at most "+strconv.Itoa(events.MetadataPairs)+" pairs")
	}
	size := 0
	for _, key := range keysOf(a.Metadata) {
		value := a.Metadata[key]
		size += len(key) + len(value)
		before := len(*f)
		f.text("metadata."+key, key, 1, events.MetadataKeyChars)
		if len(*f) > before {
			(*f)[before].Rule = "its key " + (*f)[before].Rule
			continue
		}
		f.text("metadata."+key, value, 0, events.MetadataValueChars)
	}
	if size > events.MetadataBytes {
		f.add("metadata", "must have at most "+strconv.Itoa(events.MetadataBytes)+" bytes in all")
	}
}

// keysOf returns the keys of metadata in order. Most have none.
func keysOf(metadata map[string]string) []string {
	if len(metadata) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(metadata))
}

// positive checks a quantity to be moved.
func (f *faults) positive(field string, a events.Amount) {
	if f.amount(field, a) && a.Sign() <= 0 {
		f.add(field, rulePositive)
	}
}

// Shape implements PostingRequest.
func (r PostTransaction) Shape() []FieldError {
	var f faults
	f.transactionID(r.Annotation)
	f.notes(r.Annotation)
	for i, leg := range r.Postings {
		// The names of fields are made for faults only: this is the way of every transaction.
		if events.ValidID(leg.Account) && events.ValidID(leg.Asset) && leg.Quantity.Abs().Cmp(mostPosted) <= 0 && leg.Cost.Abs().Cmp(mostPosted) <= 0 {
			continue
		}
		f.id(legField(i)+".account", leg.Account)
		f.id(legField(i)+".asset", leg.Asset)
		f.amount(legField(i)+".quantity", leg.Quantity)
		f.amount(legField(i)+".cost", leg.Cost)
	}
	return f
}

// Shape implements PostingRequest.
func (r PostTransfer) Shape() []FieldError {
	var f faults
	f.transactionID(r.Annotation)
	f.notes(r.Annotation)
	f.id("from", r.From)
	f.id("to", r.To)
	f.id("asset", r.Asset)
	f.positive("quantity", r.Quantity)
	return f
}

// Shape implements PostingRequest.
func (r PostTrade) Shape() []FieldError {
	var f faults
	f.transactionID(r.Annotation)
	f.notes(r.Annotation)
	f.id("asset", r.Asset)
	f.id("buyer", r.Buyer)
	f.id("seller", r.Seller)
	f.positive("quantity", r.Quantity)
	if f.amount("cost", r.Cost) && r.Cost.Sign() < 0 {
		f.add("cost", ruleNegative)
	}
	return f
}

// Rules implements PostingRequest.
func (r PostTransaction) Rules() *Error {
	var f faults
	if n := len(r.Postings); n < events.PostingsMin || n > events.PostingsMax {
		f.add("postings", fmt.Sprintf("must be %d to %d, not %d", events.PostingsMin, events.PostingsMax, n))
	}
	for i, leg := range r.Postings {
		if leg.Quantity.IsZero() && leg.Cost.IsZero() {
			f.add(legField(i), "must have a quantity or a cost that is not zero")
		}
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return unbalanced(r.Postings)
}

// Rules implements PostingRequest.
func (r PostTransfer) Rules() *Error { return differ("from", r.From, "to", r.To) }

// Rules implements PostingRequest.
func (r PostTrade) Rules() *Error { return differ("buyer", r.Buyer, "seller", r.Seller) }

func differ(field1, account1, field2, account2 string) *Error {
	if account1 != account2 {
		return nil
	}
	return invalidTransaction([]FieldError{
		{Field: field1, Rule: "must differ from " + field2},
		{Field: field2, Rule: "must differ from " + field1},
	})
}

func invalidTransaction(fields []FieldError) *Error {
	return &Error{Code: CodeInvalidTransaction, Detail: "The transaction breaks a rule.", Fields: fields}
}

// unbalanced returns an error when, of any asset, the quantities or the costs do not sum to zero. Of at most
// events.PostingsMax posted amounts no sum overflows.
func unbalanced(legs []LegRequest) *Error {
	type sums struct {
		asset          string
		quantity, cost events.Amount
	}
	var all []sums
	for _, leg := range legs {
		i := slices.IndexFunc(all, func(s sums) bool { return s.asset == leg.Asset })
		if i < 0 {
			i = len(all)
			all = append(all, sums{asset: leg.Asset})
		}
		all[i].quantity = sum(all[i].quantity, leg.Quantity)
		all[i].cost = sum(all[i].cost, leg.Cost)
	}
	var f faults
	for _, s := range all {
		if !s.quantity.IsZero() {
			f.add("postings", "the quantities of "+s.asset+" must sum to 0, not to "+s.quantity.String())
		}
		if !s.cost.IsZero() {
			f.add("postings", "the costs of "+s.asset+" must sum to 0, not to "+s.cost.String())
		}
	}
	if f == nil {
		return nil
	}
	return &Error{Code: CodeUnbalanced, Detail: "The postings do not sum to zero.", Fields: f}
}

func (PostTransaction) kind() events.Kind { return events.KindTransaction }
func (PostTransfer) kind() events.Kind    { return events.KindTransfer }
func (PostTrade) kind() events.Kind       { return events.KindTrade }

func (r PostTransaction) names() (accounts, assets []name) {
	accounts, assets = make([]name, len(r.Postings)), make([]name, len(r.Postings))
	for i, leg := range r.Postings {
		accounts[i] = name{id: leg.Account, field: "account", leg: i + 1}
		assets[i] = name{id: leg.Asset, field: "asset", leg: i + 1}
	}
	return accounts, assets
}

func (r PostTransfer) names() (accounts, assets []name) {
	all := []name{{id: r.From, field: "from"}, {id: r.To, field: "to"}, {id: r.Asset, field: "asset"}}
	return all[:2], all[2:]
}

func (r PostTrade) names() (accounts, assets []name) {
	all := []name{{id: r.Buyer, field: "buyer"}, {id: r.Seller, field: "seller"}, {id: r.Asset, field: "asset"}}
	return all[:2], all[2:]
}

func (r PostTransaction) costed() (costs []name) {
	for i, leg := range r.Postings {
		if !leg.Cost.IsZero() {
			costs = append(costs, name{id: leg.Asset, field: "cost", leg: i + 1})
		}
	}
	return costs
}

func (PostTransfer) costed() []name { return nil }

func (r PostTrade) costed() (costs []name) {
	if !r.Cost.IsZero() {
		costs = append(costs, name{id: r.Asset, field: "cost"})
	}
	if r.Settle {
		costs = append(costs, name{id: r.Asset, field: "settle"})
	}
	return costs
}

func (PostTransaction) settlement() (string, bool) { return "", false }
func (PostTransfer) settlement() (string, bool)    { return "", false }
func (r PostTrade) settlement() (string, bool)     { return r.Asset, r.Settle && !r.Cost.IsZero() }

func (r PostTransaction) legs(string) []LegRequest { return r.Postings }

func (r PostTransfer) legs(string) []LegRequest {
	return []LegRequest{
		{Account: r.From, Asset: r.Asset, Quantity: r.Quantity.Neg()},
		{Account: r.To, Asset: r.Asset, Quantity: r.Quantity},
	}
}

func (r PostTrade) legs(currency string) []LegRequest {
	legs := []LegRequest{
		{Account: r.Buyer, Asset: r.Asset, Quantity: r.Quantity, Cost: r.Cost},
		{Account: r.Seller, Asset: r.Asset, Quantity: r.Quantity.Neg(), Cost: r.Cost.Neg()},
		{Account: r.Buyer, Asset: currency, Quantity: r.Cost.Neg()},
		{Account: r.Seller, Asset: currency, Quantity: r.Cost},
	}
	if _, settles := r.settlement(); !settles || currency == "" {
		return legs[:2]
	}
	return legs
}
