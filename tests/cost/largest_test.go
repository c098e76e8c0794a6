package cost

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

const (
	more  = 101    // entries of a list that has another page after the largest one
	user  = "u-17" // may read and post by the group desk only
	loser = "u-18" // is still listed in groups, but has no role any more
	many  = 200    // accounts on which one request of a user reads roles
)

// zeros are the last digits of the quantities of legs.
var zeros = strings.Repeat("0", 20)

// largest is a ledger with the largest resources: texts, ids and lists have the most characters and entries that the API
// accepts. The actor has a usual length, because callers do not choose it.
type largest struct {
	*bank
	inputs
	views *projections.Views
	n     int // of the last id
}

// account, asset and group return the n-th of their kind.
func (w *largest) account(n int) string { return w.id(fmt.Sprintf("account%04d", n)) }
func (w *largest) asset(n int) string   { return w.id(fmt.Sprintf("asset%03d", n)) }
func (w *largest) group(n int) string   { return w.id(fmt.Sprintf("group%04d", n)) }
func (w *largest) next(kind string) string {
	w.n++
	return w.id(fmt.Sprintf("%s%06d", kind, w.n))
}

// try fails the test if there is an error.
func (w *largest) try(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// newLargest starts a ledger with the largest assets, accounts, groups and lists.
func newLargest(t *testing.T) *largest {
	w := &largest{inputs: longestInputs()}
	w.bank = newBank(t)
	w.views = projections.NewViews(table.NewTable(w.Client, w.Table))
	w.System = w.cold()
	for n := range more {
		w.Must(201, "PUT", "/v1/assets/"+w.asset(n), w.named())
	}
	for n := range many {
		w.Must(201, "PUT", "/v1/accounts/"+w.account(n), w.opening("Jane"))
	}
	w.rights()
	w.lists()
	return w
}

// Must is that of the system, after a tick: a post is refused if the clocks differ.
func (w *largest) Must(status int, method, path, body string, headers ...string) caller.Reply {
	w.t.Helper()
	w.tick()
	return w.System.Must(status, method, path, body, headers...)
}

// cold starts a process with empty caches.
func (w *largest) cold() *system.System {
	return w.NewProcess(system.Client(w.meter.Count), system.Indexed(indexedKey))
}

// indexedKey is one of the longest metadata keys, of longestInputs.
var indexedKey = fmt.Sprintf("%0*d", events.MetadataKeyChars, 0)

// named returns the body of an asset or, without its fields, of a group.
func (w *largest) named() string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"scale":18,"currency":"USD"}`, w.text("", events.NameChars),
		w.text("", events.DescriptionChars))
}

// opening returns the body of an account whose name ends with a text.
func (w *largest) opening(name string) string {
	limits := make([]string, w.limits)
	for n := range limits {
		limits[n] = fmt.Sprintf("%q:%q", w.asset(n), w.posted.Abs())
	}
	limits[0] = fmt.Sprintf(`"USD":%q`, w.posted.Abs())
	return fmt.Sprintf(`{"name":%q,"profile":%s,"metadata":{%s},"overdraft":{%s},"rates":[%s]}`,
		w.text("", events.NameChars-len(name))+name, w.profile, w.pairs(), strings.Join(limits, ","), w.rates())
}

// rates returns the most limits over time, each of an asset of its own, as items of a list.
func (w *largest) rates() string {
	rates := make([]string, events.RatesMax)
	for n := range rates {
		rates[n] = fmt.Sprintf(`{"asset":%q,"per":"month","zone":"America/Argentina/ComodRivadavia","quantity":%q}`,
			w.asset(n), w.posted.Abs())
	}
	return strings.Join(rates, ",")
}

// rights registers groups, and puts each account into ten: desk, in which the user is an owner, and nine of its own. The
// events of the latter stand for all before them.
func (w *largest) rights() {
	w.Must(201, "PUT", "/v1/groups/desk", `{}`)
	w.Must(201, "PUT", "/v1/groups/desk/members/"+user, `{"role":"owner"}`)
	for n := range more {
		w.Must(201, "PUT", "/v1/groups/"+w.group(n), fmt.Sprintf(`{"name":%q,"description":%q}`,
			w.text("", events.NameChars), w.text("", events.DescriptionChars)))
	}
	for n := range many {
		e := events.AccountGrouped{Account: w.account(n), Number: events.AccountGroupsMax, Groups: []string{"desk"},
			Added: "desk", Actor: "local", At: w.now().UTC().Truncate(time.Microsecond)}
		for i := range events.AccountGroupsMax - 1 {
			e.Groups = append(e.Groups, w.group(n*events.AccountGroupsMax+i))
		}
		w.Put(table.EventItem(e))
	}
}

// lists fills the lists of projections.
func (w *largest) lists() {
	sum := parsed(w.folded.String()[2:], events.FoldedDigits) // a hundred of them have no digit too many
	fold := projections.Fold{Through: events.FirstKSUID(w.now()), Credits: sum, Debits: sum, Expenditure: sum.Neg(),
		PendingDebits: sum, Count: w.count / 1000}
	hold := func(account, asset string) {
		w.try(w.views.Write(w.t.Context(), projections.Change{Balance: projections.Balance{
			Pair: events.Pair{Account: account, Asset: asset}, Base: fold, Seal: fold, Head: fold, First: fold.Through,
		}}))
	}
	for n := range more {
		hold(w.account(1), w.asset(n))
		hold(w.account(n+2), w.asset(0))
		member := projections.Membership{Account: w.account(0), User: w.id(fmt.Sprintf("user%03d", n)),
			Role: events.RoleOperator, Number: events.MemberNumberMax}
		w.try(w.views.Show(w.t.Context(), projections.Members, member))
		member.Account, member.Group = "", "desk"
		w.try(w.views.Show(w.t.Context(), projections.Members, member))
		member.User, member.Group = user, w.group(n)
		w.try(w.views.Show(w.t.Context(), projections.Members, member))
		member.User = loser
		w.try(w.views.Show(w.t.Context(), projections.Members, member))
		w.Put(table.EventItem(events.MemberGranted{Group: w.group(n), User: user, Number: 1, Role: events.RoleViewer,
			Actor: "local", At: w.now().UTC().Truncate(time.Microsecond)}))
		join := func(account, group string) {
			g := projections.GroupedAccount{Account: account, Group: group, Number: 1}
			w.try(w.views.Show(w.t.Context(), projections.Places, g))
		}
		for i := range events.AccountGroupsMax { // the user's first groups
			join(w.account(n), w.group(i))
		}
		join(w.account(n), "desk")
		opened := events.AccountChanged{ID: w.account(n), Number: 1, Metadata: w.metadata, Tagged: true}
		for _, item := range projections.TaggedItems(opened, []string{indexedKey}) {
			w.try(w.views.Show(w.t.Context(), projections.Tags, item))
		}
		account := fmt.Sprintf("%04d", n)
		join(account, "totals")
		for i := range exceedingShares(n) {
			hold(account, w.asset(i+1))
		}
	}
	w.Must(201, "PUT", "/v1/groups/totals", `{}`)
}

// history puts postings of each of n assets into the holder's account: one segment, and as many as can be behind one.
// They add up to nothing.
func (w *largest) history(n int) {
	const postings = 2*projections.StretchPostings - 2
	for a := range n {
		all := w.newPostings(w.asset(a), postings, w.now().Add(-age))
		for i := range all {
			all[i].Quantity, all[i].Cost = events.NewAmount(1-int64(i%2)*2), events.Amount{}
			all[i].Transaction, all[i].Description = w.id(all[i].Transaction), w.text("", events.DescriptionChars)
		}
		w.put(all...)
		w.project(w.System, all...)
	}
}

// deliver delivers events to the projector and the lister.
func (w *largest) deliver(keys []table.Key) {
	for some := range slices.Chunk(keys, 20) {
		streamtest.Deliver(w.t, w.Service.Stream(), streamtest.Keys(some...))
		streamtest.Deliver(w.t, w.Service.List(), streamtest.Keys(some...))
	}
}

// annotated returns the body of a request with the longest id, texts and, if with, metadata, before its last member.
func (w *largest) annotated(id string, with bool, last string) string {
	pairs := ""
	if with {
		pairs = w.pairs()
	}
	return fmt.Sprintf(`{"id":%q,"description":%q,"metadata":{%s},%s}`, id, w.text("", events.DescriptionChars), pairs,
		last)
}

// pairs returns the longest metadata, as members of an object.
func (w *largest) pairs() string {
	var pairs []string
	for key, value := range w.metadata {
		pairs = append(pairs, fmt.Sprintf("%q:%q", key, value))
	}
	return strings.Join(pairs, ",")
}

// debits returns legs that debit all accounts but the last, which they credit. Each has a cost.
func (w *largest) debits(accounts []string) string {
	legs := make([]string, len(accounts))
	for i, account := range accounts {
		quantity := "-1" + zeros
		if i == len(accounts)-1 {
			quantity = strconv.Itoa(i) + zeros
		}
		legs[i] = fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":%q,"cost":%[3]q}`, account, w.asset(1), quantity)
	}
	return `"postings":[` + strings.Join(legs, ",") + `]`
}

// between returns legs that move every asset, or some of it, from one account to another.
func (w *largest) between(from, to string) string {
	var legs []string
	for n := range events.PostingsMax / 2 {
		for _, leg := range [][2]string{{from, "-100" + zeros}, {to, "100" + zeros}} {
			legs = append(legs, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":%q,"cost":"0"}`, leg[0], w.asset(n+1),
				leg[1]))
		}
	}
	return `"postings":[` + strings.Join(legs, ",") + `]`
}

// holds places full holds between two accounts, and delivers them.
func (w *largest) holds() (ids []string) {
	var keys []table.Key
	for n := range more {
		ids = append(ids, w.next("hold"))
		held := w.Must(201, "POST", "/v1/transactions", w.annotated(ids[n], true, `"hold":{},`+
			w.between(w.account(0), w.account(1))))
		keys = append(keys, table.Transaction.Key(ids[n]), table.Posting.Key(w.account(0), w.asset(1),
			held.Text("postings", 0, "id")))
	}
	w.deliver(keys)
	return ids
}
