package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"net/http"
	"time"

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
		HasTotal      bool          // the page has all holders
		Total         events.Amount // sum of their positive balances
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
	data.HasTotal = v.query.Get("cursor") == "" && data.Holders.NextCursor == nil
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
		Here       pageURL
		Reversible reversible
		By         client.List[client.Transaction] // its reversals, oldest first
		Commands   commands
	}{Transaction: t.Value, JSON: ascii(indented(t.Raw)), Here: pageURL{v.r.URL}, Reversible: reversibleOf(t.Value)}
	if len(t.Value.Reversed) > 0 {
		by, err := v.api.Reversals(v.id).Page(v.ctx, v.query.Get("reversals"), listLimit)
		if data.By = by.Value; err != nil {
			return page{}, err
		}
	}
	if data.Commands, err = v.commandsOf(t.Value); err != nil {
		return page{}, err
	}
	return page{name: "transaction", Title: "Transaction " + v.id, Data: data},
		v.loadAll(append(data.By.Data, t.Value))
}

// groupPage is the page of a group.
type groupPage struct {
	client.Group
	Totals     []client.GroupTotal // on this page
	MoreTotals *string
	AddUp      template.URL // adds up all balances, which takes more than a page; "" if it is done
	Accounts   client.List[client.GroupedAccount]
	Members    members
}

// sumParam is the query parameter that adds up all balances of a group, however many.
const sumParam = "sum"

// group shows one group: its total balances, its accounts and its members. Totals are those of all its balances.
func (v *visit) group() (page, error) {
	data := groupPage{Members: members{Page: pageURL{v.r.URL}, Of: "group", ID: v.id}}
	r := v.reading()
	one(r, &data.Group, v.api.Group)
	list(r, &data.Accounts, v.api.GroupAccounts(v.id), "accounts", listLimit)
	list(r, &data.Members.List, v.api.GroupMembers(v.id), "members", membersLimit)
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	p := page{name: "group", Title: "Group " + v.id, Data: &data}
	p.rest = func(s *stream) error {
		all, isAll, err := v.totals(s.reports("pages of balances were added up"))
		if err != nil {
			return err
		}
		if !isAll {
			data.AddUp = pageURL{v.r.URL}.With(sumParam, "all")
			return s.show("totals", &data)
		}
		shown, err := pagesIn(all)(v.ctx, v.query.Get("totals"), listLimit)
		if err != nil {
			return err
		}
		data.Totals, data.MoreTotals = shown.Data, shown.NextCursor
		var assets []string
		for _, t := range data.Totals {
			assets = append(assets, t.Asset)
		}
		if err := v.units.Load(v.ctx, assets...); err != nil {
			return err
		}
		return s.show("totals", &data)
	}
	return p, nil
}

// totalsPages is the maximum number of pages of balances that are added up without being asked to.
const totalsPages = 20

// totals adds up the balances of a group. isAll is false if there are more than totalsPages pages of them, and nobody
// has asked for that. Then it keeps to the pace.
func (v *visit) totals(report func(done, of int) error) (sum []client.GroupTotal, isAll bool, err error) {
	cursor, shown := "", time.Now()
	for n := 1; ; n++ {
		page, err := v.api.GroupTotals(v.ctx, v.id, cursor, client.PageLimit)
		if err == nil {
			sum, err = client.AddTotals(sum, page.Value.Data)
		}
		if err != nil || page.Value.NextCursor == nil {
			return sum, true, err
		}
		cursor = *page.Value.NextCursor
		if n < totalsPages {
			continue
		}
		if v.query.Get(sumParam) == "" {
			return nil, false, nil
		}
		if time.Since(shown) > progressEvery {
			shown, err = time.Now(), report(n, 0)
		}
		if err := cmp.Or(err, v.pace.wait(v.ctx)); err != nil {
			return nil, false, err
		}
	}
}

// indented returns JSON with line breaks and indentation.
func indented(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
