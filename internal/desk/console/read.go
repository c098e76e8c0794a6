package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// The number of items per page of each list.
const (
	listLimit    = 50
	historyLimit = 25
	holdsLimit   = 10
	holdersLimit = client.PageLimit
	membersLimit = 25 // small, because each member has a form
)

// asset shows one asset and its holders, which users may not list.
func (v *visit) asset() (page, error) {
	var data struct {
		client.Asset
		HoldersHidden bool
		Holders       client.List[client.Balance]
		Total         events.Amount // sum of the positive balances on this page
	}
	asset, err := v.api.Asset(v.ctx, v.id)
	if err != nil {
		return page{}, err
	}
	data.Asset = asset.Value
	held, err := v.api.Holders(v.id).Page(v.ctx, v.query.Get("cursor"), holdersLimit)
	data.Holders = held.Value
	if data.HoldersHidden = refusal(err).Status == http.StatusForbidden; err != nil && !data.HoldersHidden {
		return page{}, err
	}
	for _, b := range data.Holders.Data {
		if b.Quantity.Sign() > 0 {
			if data.Total, err = data.Total.Add(b.Quantity); err != nil {
				return page{}, err
			}
		}
	}
	return page{name: "asset", Title: "Asset " + v.id, Data: data}, v.units.Load(v.ctx, v.id)
}

// transaction shows one transaction, and how it ended or was reversed.
func (v *visit) transaction() (page, error) {
	t, err := v.api.Transaction(v.ctx, v.id)
	if err != nil {
		return page{}, err
	}
	data := struct {
		client.Transaction
		JSON       string
		CanReverse bool
		Commands   commands
	}{Transaction: t.Value, JSON: ascii(indented(t.Raw)), CanReverse: canReverse(t.Value)}
	if data.Commands, err = v.commandsOf(t.Value); err != nil {
		return page{}, err
	}
	return page{name: "transaction", Title: "Transaction " + v.id, Data: data},
		v.loadAll([]client.Transaction{t.Value})
}

// canReverse reports whether anything of a transaction is left to reverse.
func canReverse(t client.Transaction) bool {
	return (t.Status == client.StatusCaptured || t.Status == client.StatusPosted) &&
		!slices.EqualFunc(t.AsPosted(), t.Reversed, func(p client.Posting, back client.Leg) bool {
			return p.Quantity == back.Quantity && p.Cost == back.Cost
		})
}

// group shows one group: its total balances, its accounts and its members.
func (v *visit) group() (page, error) {
	var data struct {
		client.Group
		Totals   client.List[client.GroupTotal]
		IsPart   bool // the totals are of a part of the balances
		Accounts client.List[client.GroupedAccount]
		Members  members
	}
	data.Members = members{Page: pageURL{v.r.URL}, Of: "group", ID: v.id}
	r := v.reading()
	one(r, &data.Group, v.api.Group)
	r.Go(func() (err error) {
		data.Totals, err = v.totals(r.ctx, v.query.Get("totals"))
		return err
	})
	list(r, &data.Accounts, v.api.GroupAccounts(v.id), "accounts", listLimit)
	list(r, &data.Members.List, v.api.GroupMembers(v.id), "members", membersLimit)
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	data.IsPart = v.query.Get("totals") != "" || data.Totals.NextCursor != nil
	var assets []string
	for _, t := range data.Totals.Data {
		assets = append(assets, t.Asset)
	}
	return page{name: "group", Title: "Group " + v.id, Data: data}, v.units.Load(v.ctx, assets...)
}

// totalsPages is the maximum number of pages of balances that are added up for a page.
const totalsPages = 20

// totals adds up pages of a group's balances from a cursor on, until it has listLimit assets or totalsPages pages.
func (v *visit) totals(ctx context.Context, cursor string) (sum client.List[client.GroupTotal], err error) {
	for range totalsPages {
		page, err := v.api.GroupTotals(ctx, v.id, cursor, listLimit)
		if err == nil {
			sum.Data, err = client.AddTotals(sum.Data, page.Value.Data)
		}
		if sum.NextCursor = page.Value.NextCursor; err != nil || sum.NextCursor == nil || len(sum.Data) >= listLimit {
			return sum, err
		}
		cursor = *sum.NextCursor
	}
	return sum, nil
}

// indented returns JSON with line breaks and indentation.
func indented(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
