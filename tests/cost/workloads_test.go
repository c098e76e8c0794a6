package cost

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/functions/app"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/lanes"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/tests/harness/system"
)

// parties is the smaller number of parties of a workload.
const parties = 24

// A workload is one kind of work. Party i shares no account with another one, so that what is hot is the ledger's.
type workload struct {
	name    string                // of its operations, plural
	by      string                // the user of HTTP requests; "": an administrator
	prepare func(c *crowd, i int) // nil: nothing
	begin   func(c *crowd)        // when all is prepared and projected, likewise
	do      func(c *crowd, i int) // one operation
	lanes   int                   // that there are; 0: as usual
	ofOne   string                // what one account does if all are between the same two; "": it is not shown
}

// run runs a workload, and returns the units of all operations by key. It adds the items that the table then has to made.
func (w *workload) run(t *testing.T, n int, made map[*table.Pattern]bool) map[table.PartitionKey]table.Units {
	t.Helper()
	return w.runAt(t, n, func(i int) int { return i }, made)
}

// runAt is run with the party of each operation.
func (w *workload) runAt(t *testing.T, n int, party func(i int) int, made map[*table.Pattern]bool,
) map[table.PartitionKey]table.Units {
	t.Helper()
	b := newBank(t)
	b.meter.ByKey = true
	c := &crowd{limitedBank: &limitedBank{bank: b, warm: b.coldLedger()}, seen: make(map[table.Key]table.Item)}
	for i := range n {
		c.open(i)
		if w.prepare != nil {
			w.prepare(c, i)
		}
	}
	c.list = c.lister()
	c.deliver()
	if w.by != "" {
		caller := func(*http.Request) access.Caller { return access.Caller{Service: "app", User: w.by} }
		b.System = c.NewProcess(system.Client(b.meter.Count), system.Calls(caller))
	}
	if w.begin != nil {
		w.begin(c)
	}
	c.meter.Take()
	for i := range n {
		w.do(c, party(i))
	}
	c.deliver()
	used := c.meter.Take().ByKey
	for k := range c.Contents() {
		for _, p := range table.ItemTypes() {
			if _, is := p.Parts(k); is {
				made[p] = true
			}
		}
	}
	return used
}

// crowd is a ledger with many parties.
type crowd struct {
	*limitedBank
	list   stream.Function
	seen   map[table.Key]table.Item
	placed []string // transactions that were prepared, by party
	cursor string   // of a follower
}

// The accounts of party i. The first two have limits.
func buyer(i int) string  { return fmt.Sprintf("clients:%08d", 2*i) }
func seller(i int) string { return fmt.Sprintf("clients:%08d", 2*i+1) }
func house(i int) string  { return fmt.Sprintf("houses:%08d", i) }

func (c *crowd) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// open opens the accounts of a party, and gives them money and shares.
func (c *crowd) open(i int) {
	c.t.Helper()
	for _, account := range []ledger.OpenAccount{{ID: buyer(i)}, {ID: seller(i)},
		{ID: house(i), Overdraft: events.Overdraft{Unlimited: true}}} {
		account.Actor = typicalInputs().actor
		_, _, err := c.warm.OpenAccount(c.t.Context(), account)
		c.must(err)
	}
	for _, to := range []string{buyer(i), seller(i)} {
		for _, asset := range []string{"USD", share} {
			c.post(c.transfer(house(i), to, asset))
		}
	}
}

func (c *crowd) transfer(from, to, asset string) ledger.PostTransfer {
	return ledger.PostTransfer{Annotation: c.note(false), From: from, To: to, Asset: asset,
		Quantity: events.NewAmount(1_000_000)}
}

func (c *crowd) tradeOf(i int, hold bool) ledger.PostTrade {
	r := c.trade(hold)
	r.Buyer, r.Seller = buyer(i), seller(i)
	return r
}

// place prepares a transaction of the next party.
func (c *crowd) place(r ledger.Request) { c.placed = append(c.placed, c.post(r)) }

// deliver delivers what is new in the table to the projector and the lister, ten records at a time.
func (c *crowd) deliver() {
	c.t.Helper()
	var items []table.Item
	for _, e := range c.newEvents(c.seen) {
		items = append(items, table.EventItem(e))
	}
	for some := range slices.Chunk(items, 10) {
		records := streamtest.Images(c.t, some...)
		streamtest.Deliver(c.t, c.Service.Stream(), records)
		streamtest.Deliver(c.t, c.list, records)
	}
}

// workloads are all kinds of work. Between them they write every type of item.
func workloads() []*workload {
	by := typicalInputs().actor
	return []*workload{
		{name: "trades", ofOne: "spends", do: func(c *crowd, i int) { c.post(c.tradeOf(i, false)) }},
		{name: "settled trades", ofOne: "spends and is paid", do: func(c *crowd, i int) {
			r := c.tradeOf(i, false)
			r.Settle = true
			c.post(r)
		}},
		{name: "trades with the same metadata", do: func(c *crowd, i int) {
			r := c.tradeOf(i, false)
			r.Metadata = map[string]string{"order": "the same"}
			c.post(r)
		}},
		{name: "trades in eight lanes", lanes: 8, begin: (*crowd).grow, do: func(c *crowd, i int) {
			r := c.tradeOf(i, false)
			r.Metadata = map[string]string{"order": "the same"}
			c.post(r)
		}},
		{name: "holds placed and captured", ofOne: "places and captures holds", do: func(c *crowd, i int) { c.capture(c.post(c.tradeOf(i, true))) }},
		{name: "holds placed and listed, then released", ofOne: "places and releases holds", do: func(c *crowd, i int) {
			id := c.post(c.tradeOf(i, true))
			c.deliver()
			c.release(id)
		}},
		{name: "sweeps of a due hold", do: func(c *crowd, i int) {
			soon, r := c.now().Add(time.Minute), c.tradeOf(i, true)
			r.Hold.ExpiresAt = &soon
			c.post(r)
			c.deliver()
			c.clock.Add(int64(2 * time.Minute))
			_, err := c.warm.Sweep(c.t.Context())
			c.must(err)
		}},
		{name: "reversals", prepare: func(c *crowd, i int) { c.place(c.tradeOf(i, false)) },
			do: func(c *crowd, i int) { c.reverse(c.placed[i], 0) }},
		{name: "openings of an account with its first posting", do: func(c *crowd, i int) {
			id, name := fmt.Sprintf("new:%08d", i), "Name"
			_, _, err := c.warm.OpenAccount(c.t.Context(), ledger.OpenAccount{ID: id, Actor: by})
			c.must(err)
			_, err = c.warm.ChangeAccount(c.t.Context(), ledger.ChangeAccount{ID: id, Name: &name, Actor: by})
			c.must(err)
			c.post(c.transfer(house(i), id, "USD"))
		}},
		{name: "openings of an account with the same metadata", do: func(c *crowd, i int) {
			_, _, err := c.warm.OpenAccount(c.t.Context(), ledger.OpenAccount{
				ID: fmt.Sprintf("new:%08d", i), Metadata: map[string]string{"order": "the same"}, Actor: by,
			})
			c.must(err)
		}},
		{name: "registrations of an asset and a group", do: func(c *crowd, i int) {
			id := fmt.Sprintf("new:%08d", i)
			_, _, err := c.warm.RegisterAsset(c.t.Context(), ledger.RegisterAsset{ID: id, Name: "Asset", Actor: by})
			c.must(err)
			_, _, err = c.warm.RegisterGroup(c.t.Context(), ledger.RegisterGroup{ID: id, Actor: by})
			c.must(err)
		}},
		{name: "grants to one user", do: func(c *crowd, i int) {
			_, err := c.warm.Grant(c.t.Context(), ledger.GrantMember{Account: buyer(i), User: "auditor",
				Role: events.RoleViewer, Actor: by})
			c.must(err)
		}},
		{name: "grants in one group", prepare: prepareGroup, do: func(c *crowd, i int) {
			c.Must(201, "PUT", fmt.Sprintf("/v1/groups/desk/members/user-%d", i), `{"role":"viewer"}`)
		}},
		{name: "accounts put into one group", prepare: prepareGroup, do: func(c *crowd, i int) {
			_, _, err := c.warm.GroupAccount(c.t.Context(), ledger.GroupAccount{Group: "desk", Account: buyer(i), Actor: by})
			c.must(err)
		}},
		{name: "reads by the users of one group", by: "jane", prepare: func(c *crowd, i int) {
			prepareGroup(c, i)
			_, _, err := c.warm.GroupAccount(c.t.Context(), ledger.GroupAccount{Group: "desk", Account: buyer(i), Actor: by})
			c.must(err)
			if i == 0 {
				c.Must(201, "PUT", "/v1/groups/desk/members/jane", `{"role":"viewer"}`)
			}
		}, do: func(c *crowd, i int) { c.Must(200, "GET", "/v1/accounts/"+buyer(i)+"/balances/USD", "") }},
		{name: "periods closed", do: func(c *crowd, i int) {
			_, _, err := c.warm.ClosePeriod(c.t.Context(), ledger.ClosePeriod{Number: int64(i + 1),
				Before: c.now().AddDate(-9, 0, i), Reason: "The end", Actor: by})
			c.must(err)
		}},
		{name: "backdated trades", do: func(c *crowd, i int) {
			r, past := c.tradeOf(i, false), c.now().AddDate(0, -1, 0)
			r.EffectiveAt = &past
			c.post(r)
		}},
		{name: "pages that are forwarded", begin: (*crowd).forward, do: func(c *crowd, i int) {
			c.post(c.tradeOf(i, false))
			c.deliver()
			c.forward()
		}},
		{name: "pages that a follower reads", begin: (*crowd).follow, prepare: func(c *crowd, i int) { c.place(c.tradeOf(i, false)) },
			do: func(c *crowd, _ int) { c.follow() }},
		{name: "strong reads", prepare: func(c *crowd, i int) {
			if i == 0 { // a long history
				all := c.newPostings(share, projections.StretchPostings+100, c.now().Add(-age/2))
				c.put(all...)
				c.project(c.System, all...)
			}
		}, do: func(c *crowd, i int) {
			c.Must(200, "GET", "/v1/accounts/"+buyer(i)+"/balances/USD?consistency=strong", "")
		}},
	}
}

// grow grows to eight lanes, and waits until they are in force.
func (c *crowd) grow() {
	c.t.Helper()
	_, _, err := lanes.Grow(c.t.Context(), table.NewTable(c.Client, c.Table), 8)
	c.must(err)
	c.clock.Add(int64(table.LanesLead + time.Second))
}

// forward forwards all of the journal, a minute later.
func (c *crowd) forward() {
	c.t.Helper()
	c.clock.Add(int64(time.Minute))
	taken := func(_ context.Context, all []client.JournalEntry) ([]bool, error) {
		return slices.Repeat([]bool{true}, len(all)), nil
	}
	_, err := c.Service.Forward("bus", taken)(c.t.Context(), app.Forwarding{})
	c.must(err)
}

// follow reads the next page of the journal.
func (c *crowd) follow() {
	c.t.Helper()
	path := "/v1/journal?limit=3"
	if c.cursor == "" {
		c.clock.Add(int64(time.Minute))
	} else {
		path += "&after=" + url.QueryEscape(c.cursor)
	}
	c.cursor = c.Must(200, "GET", path, "").Text("next_cursor")
}

func prepareGroup(c *crowd, i int) {
	if i == 0 {
		_, _, err := c.warm.RegisterGroup(c.t.Context(), ledger.RegisterGroup{ID: "desk", Actor: typicalInputs().actor})
		c.must(err)
	}
}
