package console

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

const (
	// balancesLimit is the number of balances on an account's page. They are read strongly, which costs three requests
	// to the table each.
	balancesLimit = 25
	// partiesMost is the most transactions whose accounts are kept, and partiesShown the most that an entry shows.
	partiesMost, partiesShown = 10_000, 2
)

// members is a page of the users with a role on an account or in a group.
type members struct {
	client.List[client.GrantedMember]
	Page pageURL
	Of   string // "account" or "group"
	ID   string
}

// entry is a posting in the history of an account.
type entry struct {
	client.Posting
	Parties firstN[string] // the accounts on the other side
	Balance *events.Amount // after the posting, nil if it is not known
}

// accountPage is the page of an account: balances, open holds, history, members and changes.
type accountPage struct {
	client.Account
	Here         pageURL
	Balances     client.List[client.Balance]
	Used         client.List[client.UsedRate]
	Holds        []client.Transaction
	MoreHolds    *string
	Changes      client.List[client.Change]
	Members      members
	Groups       client.List[client.GroupedAccount]
	Period       period
	Chart        period // of one asset
	HistoryError string
	History      client.List[client.Posting]
	Entries      []entry
	FirstOfPage  bool
	Assets       []string // choices of the filter
}

// account shows one account. What it shows of balances includes every posting of its history: it reads the balances
// last, and both strongly.
func (v *visit) account() (page, error) {
	here := pageURL{v.r.URL}
	data := accountPage{
		Here: here, Members: members{Page: here, Of: "account", ID: v.id}, FirstOfPage: v.query.Get("cursor") == "",
	}
	var refused error
	data.Period, refused = v.period()
	holds := client.List[client.Transaction]{}
	r := v.reading()
	one(r, &data.Account, v.api.Account)
	if refused == nil {
		r.Go(func() error {
			history, err := v.api.History(v.id, data.Period.history()).Page(r.ctx, v.query.Get("cursor"), historyLimit)
			data.History = history.Value
			if refusal(err).Status != 0 { // show the account without its history
				refused, err = err, nil
			}
			return err
		})
	}
	list(r, &holds, v.api.Holds(v.id, client.StatusHeld), "holds", holdsLimit)
	list(r, &data.Changes, v.api.Changes(v.id), "changes", historyLimit)
	list(r, &data.Members.List, v.api.Members(v.id), "members", membersLimit)
	list(r, &data.Groups, v.api.AccountGroups(v.id), "", listLimit) // an account is in at most ten groups
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	balances := v.reading()
	list(balances, &data.Balances, v.api.Balances(v.id, true), "balances", balancesLimit)
	if len(data.Rates) > 0 {
		list(balances, &data.Used, v.api.Rates(v.id), "", client.PageLimit)
	}
	if err := balances.Wait(); err != nil {
		return page{}, err
	}
	data.MoreHolds = holds.NextCursor
	for _, t := range holds.Data {
		if t.Status == client.StatusHeld { // the list may lag
			data.Holds = append(data.Holds, t)
		}
	}
	p := page{name: "account", Title: cmp.Or(data.Name, v.id), Live: Path + "live?account=" + v.id}
	if refused != nil {
		data.HistoryError, p.status = v.errorText(refused), statusOf(refused)
	} else if err := v.entries(&data); err != nil {
		return page{}, err
	}
	assets := data.choices()
	p.Data = &data
	return p, v.loadAll(data.Holds, assets...)
}

// IsSampled reports whether the chart may have too many postings to show each.
func (a *accountPage) IsSampled() bool {
	return slices.ContainsFunc(a.Balances.Data, func(b client.Balance) bool {
		return b.Asset == a.Chart.Asset && b.Postings > chartLines
	})
}

// choices sets the assets of the filter and of the chart: the chosen one, otherwise that of the newest posting. It
// returns all assets of the page.
func (a *accountPage) choices() []string {
	newest := ""
	for _, b := range a.Balances.Data {
		a.Assets = append(a.Assets, b.Asset)
		if b.AsOf != nil && *b.AsOf > newest {
			newest, a.Chart.Asset = *b.AsOf, b.Asset
		}
	}
	all := slices.Clone(a.Assets)
	chosen := a.Period.Asset
	if chosen != "" && !slices.Contains(a.Assets, chosen) {
		a.Assets = append(a.Assets, chosen)
	}
	chart := a.Chart.Asset
	a.Chart = a.Period
	a.Chart.Asset = cmp.Or(chosen, chart)
	for _, p := range a.History.Data {
		all = append(all, p.Asset)
	}
	for _, r := range a.Used.Data {
		all = append(all, r.Asset)
	}
	for _, c := range a.Changes.Data {
		all = append(all, units.AssetsOf(c.Changed.Rates)...)
		if c.Changed.Overdraft != nil {
			for asset := range c.Changed.Overdraft.Limits {
				all = append(all, asset)
			}
		}
	}
	return all
}

// entries sets the entries of the history.
func (v *visit) entries(a *accountPage) error {
	if a.Period == (period{account: v.id}) && a.FirstOfPage {
		if err := v.addNewest(a); err != nil {
			return err
		}
	}
	after, err := v.balancesAfter(a)
	if err != nil {
		return err
	}
	a.Entries = make([]entry, len(a.History.Data))
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i, p := range a.History.Data {
		a.Entries[i] = entry{Posting: p}
		if top, ok := after[p.Asset]; ok && !top.IsUnknown {
			a.Entries[i].Balance = new(top.Amount)
			if top.Amount, err = top.Amount.Sub(p.Quantity); err != nil {
				top.IsUnknown = true
			}
			after[p.Asset] = top
		}
		g.Go(func() (err error) {
			a.Entries[i].Parties, err = v.parties(ctx, p)
			return err
		})
	}
	return g.Wait()
}

// addNewest adds the postings to the history that the balances include, but the list of all assets does not yet.
func (v *visit) addNewest(a *accountPage) error {
	last := ""
	listed := make(map[string]bool)
	for _, p := range a.History.Data {
		listed[p.ID] = true
		last = p.ID
	}
	for _, b := range a.Balances.Data {
		if b.AsOf == nil || listed[*b.AsOf] || *b.AsOf < last {
			continue
		}
		of := client.HistoryQuery{Asset: b.Asset, Strong: true}
		newest, err := v.api.History(v.id, of).Page(v.ctx, "", historyLimit)
		if err != nil {
			return err
		}
		for _, p := range newest.Value.Data {
			if !listed[p.ID] && p.ID > last {
				a.History.Data = append(a.History.Data, p)
			}
		}
	}
	slices.SortStableFunc(a.History.Data, func(a, b client.Posting) int { return cmp.Compare(b.ID, a.ID) })
	return nil
}

// known is a balance after a posting.
type known struct {
	events.Amount
	IsUnknown bool // others were posted at the same time, on the page before, or it has too many digits
}

// balancesAfter returns the balances after the newest posting of each asset in the history.
func (v *visit) balancesAfter(a *accountPage) (map[string]known, error) {
	after := make(map[string]known)
	for _, p := range a.History.Data {
		if _, ok := after[p.Asset]; ok {
			continue
		}
		now := slices.IndexFunc(a.Balances.Data, func(b client.Balance) bool {
			return b.Asset == p.Asset && b.AsOf != nil && *b.AsOf == p.ID
		})
		if now >= 0 {
			after[p.Asset] = known{Amount: a.Balances.Data[now].Quantity}
			continue
		}
		past, err := v.api.BalanceAt(v.ctx, v.id, p.Asset, timeOf(p.PostedAt), true)
		if err != nil {
			return nil, err
		}
		isIts := past.Value.AsOf != nil && *past.Value.AsOf == p.ID
		after[p.Asset] = known{past.Value.Quantity, !isIts}
	}
	return after, nil
}

// transactionParties has the postings of transactions, by user and id. Their accounts never change. It is safe for
// concurrent use.
type transactionParties struct {
	mu    sync.Mutex
	known map[[2]string][]client.Posting
}

// parties returns the accounts on the other side of a posting: those that gave or received its asset, or all others.
func (v *visit) parties(ctx context.Context, of client.Posting) (firstN[string], error) {
	key := [2]string{v.user, of.Transaction}
	c := &v.transactionParties
	c.mu.Lock()
	legs, ok := c.known[key]
	c.mu.Unlock()
	if !ok {
		t, err := v.api.Transaction(ctx, of.Transaction)
		switch {
		case refusal(err).Status != 0: // the caller may not see it any more
			return firstN[string]{}, nil
		case err != nil:
			return firstN[string]{}, err
		}
		legs = t.Value.Postings
		c.mu.Lock()
		if len(c.known) >= partiesMost {
			clear(c.known)
		}
		c.known[key] = legs
		c.mu.Unlock()
	}
	var opposite, others []string
	sign := 0
	for _, l := range legs {
		if l.Account == of.Account && l.Asset == of.Asset {
			sign = l.Quantity.Sign()
		}
	}
	for _, l := range legs {
		if l.Account == of.Account {
			continue
		}
		if others = append(others, l.Account); l.Asset == of.Asset && l.Quantity.Sign()*sign < 0 {
			opposite = append(opposite, l.Account)
		}
	}
	if len(opposite) == 0 {
		opposite = others
	}
	return firstOf(slices.Compact(slices.Sorted(slices.Values(opposite))), partiesShown), nil
}

// history returns the query of a history for the period.
func (p period) history() client.HistoryQuery {
	return client.HistoryQuery{Asset: p.Asset, From: p.from, To: p.to, Strong: p.Asset != ""}
}

// isOverdue reports whether a hold should have ended.
func isOverdue(t client.Transaction) bool { return timeOf(t.ExpiresAt).Before(time.Now()) }

// percentUsed returns how much of a limit over time is used, 0 to 100. More may be used than a limit that was lowered.
func percentUsed(r client.UsedRate) int {
	used, _ := strconv.ParseFloat(r.Used.String(), 64)
	most, _ := strconv.ParseFloat(r.Quantity.String(), 64)
	return int(min(100*used/most, 100))
}

// changedField is a field of an account that a change has set.
type changedField struct{ Field, Value string }

// changed returns the fields that a change of an account has set to something. The units must have loaded the assets.
func changed(u *units.Units, of client.Change) (all []changedField) {
	add := func(field, value string) { all = append(all, changedField{field, value}) }
	now := of.Changed
	if now.State != "" {
		add("state", now.State)
	}
	if now.Name != nil && (*now.Name != "" || of.Version > 1) {
		add("name", "“"+*now.Name+"”")
	}
	switch o := now.Overdraft; {
	case o == nil, len(o.Limits) == 0 && !o.Unlimited && of.Version == 1:
	case o.Unlimited:
		add("unlimited overdraft", "")
	case len(o.Limits) == 0:
		add("no overdraft", "")
	default:
		for _, asset := range slices.Sorted(maps.Keys(o.Limits)) {
			add("overdraft limit", u.Quantity(asset, o.Limits[asset])+" "+asset)
		}
	}
	for _, r := range now.Rates {
		add("limit over time", u.RateText(r))
	}
	if now.Rates != nil && len(now.Rates) == 0 {
		add("no limits over time", "")
	}
	for _, key := range slices.Sorted(maps.Keys(now.Metadata)) {
		add("metadata", key+"="+now.Metadata[key])
	}
	if now.Metadata != nil && len(now.Metadata) == 0 {
		add("no metadata", "")
	}
	if len(now.Profile) > 0 && string(now.Profile) != "{}" {
		add("profile", "")
	}
	return all
}
