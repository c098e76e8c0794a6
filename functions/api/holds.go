package api

import (
	"slices"
	"strconv"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// The lists of transactions. A page ends where its answer would be too large for a Lambda function.

func showReversal(v projections.Reversal) transaction {
	return showTransaction(events.Transaction{Header: v.Header})
}

// transactions reads transactions by time, either all or those with a value of an indexed metadata key.
func (a *api) transactions(
	r *request, in *client.TransactionsQuery, s projections.Slice,
) (projections.Page[events.Transaction], error) {
	by := projections.Search{
		Span: projections.Span{From: in.From, To: in.To}, OldestFirst: in.OldestFirst,
	}
	for by.Key, by.Value = range in.Metadata { // at most one
	}
	page, err := a.config.Lists.Transactions(r.ctx(), by, s)
	return cutPage(page, func(t events.Transaction) (string, int) {
		return string(t.Header.Legs[0].ID) + "#" + t.Header.ID, maxBytes(t)
	}), err
}

// accounts reads accounts by id, either all or those with a value of an indexed metadata key.
func (a *api) accounts(
	r *request, in *client.AccountsQuery, s projections.Slice,
) (projections.Page[projections.Holder], error) {
	for key, value := range in.Metadata { // at most one
		return a.config.Lists.TaggedAccounts(r.ctx(), key, value, in.Prefix, s)
	}
	return a.config.Lists.Accounts(r.ctx(), in.Prefix, s)
}

// reversals reads the reversals of a transaction, oldest first. A user's list has those of which the user may see a
// leg, and ends where they end.
func (a *api) reversals(
	r *request, in *client.TransactionID, s projections.Slice,
) (page projections.Page[projections.Reversal], err error) {
	if r.caller.Admin {
		page, err = a.config.Lists.ReversalsOf(r.ctx(), in.ID, s)
		if err == nil && len(page.Items) == 0 {
			_, err = a.config.Resources.Transaction(r.ctx(), in.ID) // is there a transaction?
		}
	} else {
		page, err = a.visibleReversals(r, in.ID, s)
	}
	return cutPage(page, func(v projections.Reversal) (string, int) {
		return formatNumber(v.Number), maxBytes(events.Transaction{Header: v.Header})
	}), err
}

// visibleReversals is reversals for a user. Which legs a reversal has follows from the transaction: only the reversals
// of the page are read.
func (a *api) visibleReversals(
	r *request, id string, s projections.Slice,
) (page projections.Page[projections.Reversal], err error) {
	of, err := a.config.Resources.Lifecycle(r.ctx(), id)
	if err == nil {
		err = r.permitLegs(r.ctx(), of.Header)
	}
	if err != nil {
		return page, err
	}
	after, _ := strconv.ParseInt(s.After, 10, 64) // isNumber has checked it; "" is 0
	rest := slices.DeleteFunc(slices.Clone(of.Reversals), func(e events.TransactionReversed) bool {
		return e.Number <= after || !r.seesReversal(of, e)
	})
	if len(rest) > s.Limit {
		rest = rest[:s.Limit]
		page.Next = formatNumber(rest[s.Limit-1].Number)
	}
	page.Items, err = a.config.Lists.Reversals(r.ctx(), rest)
	return page, err
}

func formatNumber(n int64) string { return strconv.FormatInt(n, 10) }

// seesReversal reports whether the caller may see a leg of a reversal.
func (r *request) seesReversal(of ledger.Lifecycle, e events.TransactionReversed) bool {
	posted := of.Posted()
	for i, taken := range e.Taken {
		if taken != (events.Taken{}) && i < len(posted) && r.seen.sees(posted[i].Account) {
			return true
		}
	}
	return r.caller.Admin
}

// holds reads the holds that debit or credit an account, newest first.
func (a *api) holds(
	r *request, in *client.HoldsQuery, s projections.Slice,
) (projections.Page[events.Transaction], error) {
	page, err := a.config.Lists.HoldsOf(r.ctx(), in.Account, in.Status, s)
	if err == nil && len(page.Items) == 0 {
		err = a.exist(r.ctx(), r.ids)
	}
	if err != nil {
		return page, err
	}
	accounts := make(map[string]bool)
	page = cutPage(page, func(h events.Transaction) (string, int) {
		bytes := maxBytes(h)
		for _, leg := range h.Header.Legs {
			if !r.caller.Admin && !accounts[leg.Account] { // its role is read, so it takes a share of the page
				bytes += pageBytes / accountsMax
				accounts[leg.Account] = true
			}
		}
		return string(h.Header.Legs[0].ID), bytes
	})
	var legs []events.Leg
	for _, h := range page.Items {
		legs = append(legs, h.Header.Legs...)
	}
	return page, r.look(r.ctx(), legs, toRead)
}

// openHolds reads all holds that have not ended, by their expiry.
func (a *api) openHolds(r *request, _ *struct{}, s projections.Slice) (projections.Page[events.Transaction], error) {
	page, err := a.config.Lists.OpenHolds(r.ctx(), s)
	return cutPage(page, func(h events.Transaction) (string, int) {
		return events.FormatTime(h.Header.ExpiresAt) + "#" + h.Header.ID, maxBytes(h)
	}), err
}

// pageBytes is about the most bytes of a page of transactions. A Lambda function answers with at most 6 MB, in which
// the page is an escaped JSON string.
const pageBytes = 3 << 20

// cutPage cuts a page after the items that fit into pageBytes, but not before the second item. about returns an item's
// position in the list and the most bytes that it takes in the answer.
func cutPage[S any](listed projections.Page[S], about func(S) (position string, bytes int)) projections.Page[S] {
	total, last := 0, ""
	for i, item := range listed.Items {
		position, bytes := about(item)
		if total += bytes; total > pageBytes && i > 0 {
			return projections.Page[S]{Items: listed.Items[:i], Next: last}
		}
		last = position
	}
	return listed
}

// maxBytes returns the most bytes that a transaction takes in the answer of a Lambda function.
func maxBytes(h events.Transaction) int {
	const (
		fixed   = 1000 // names, times, ids
		ofLeg   = 320
		ofAByte = 7 // of a text: a control character becomes \\u0001
	)
	text, legs := len(h.Header.Actor)+len(h.Header.Description), len(h.Header.Legs)
	for key, value := range h.Header.Metadata {
		text += len(key) + len(value) + 2
	}
	if h.Ended != nil {
		text, legs = text+len(h.Ended.Actor)+len(h.Ended.Description), 2*legs
	}
	return fixed + ofLeg*legs + ofAByte*text
}
