package soak

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/tests/caller"
)

const (
	// forgets is how long before its JVM is killed DynamoDB Local may have acknowledged what it forgets then: measured were
	// up to 5.4 ms, on a machine that had nothing else to do.
	forgets = 50 * time.Millisecond
	// looksAtOnce is how many transactions are read at a time.
	looksAtOnce = 8
)

// books are what was asked for. They are safe for concurrent use until they are audited.
type books struct {
	t        *testing.T
	accounts []string
	assets   []string

	mu    sync.Mutex
	asked []*asked
}

// openBooks opens accounts, and funds them.
func openBooks(t *testing.T, url string) *books {
	t.Helper()
	b := &books{t: t, accounts: []string{"bank", "market"}, assets: []string{"EUR", "GOLD"}}
	c := caller.New(t, url)
	c.Must(201, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`)
	c.Must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3,"currency":"EUR"}`)
	for _, account := range b.accounts {
		c.Must(201, "PUT", "/v1/accounts/"+account, `{"overdraft":"unlimited"}`)
	}
	for i := range limited {
		account, policy := fmt.Sprint("holder-", i), `{}`
		if i%3 == 0 {
			policy = fmt.Sprintf(`{"overdraft":{"EUR":"%d"}}`, overdraft)
		}
		c.Must(201, "PUT", "/v1/accounts/"+account, policy)
		b.accounts = append(b.accounts, account)
		a := &asked{id: fmt.Sprint("fund-", i)}
		a.transfer("bank", account, funds)
		c.Must(201, "POST", a.path, a.body)
		b.asked = append(b.asked, a)
	}
	return b
}

// keep takes in what a client asked for.
func (b *books) keep(all []*asked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, all...)
}

// findings are what became of it.
type findings struct {
	asked, acknowledged, refused int
	unknown, unanswered          int // whose outcome was unknown once, or to the end
	lost, duplicated, forgotten  int
	oldest                       time.Duration // of what was forgotten, before the JVM was killed
}

func (f findings) String() string {
	return fmt.Sprintf("%d transactions, %d acknowledged, %d refused, %d unknown (%d never asked for again), %d lost, %d duplicated, %d forgotten by DynamoDB Local (the oldest %v before a power cut)",
		f.asked, f.acknowledged, f.refused, f.unknown, f.unanswered, f.lost, f.duplicated, f.forgotten, f.oldest.Round(10*time.Microsecond))
}

// posting is one leg as the ledger shows it.
type posting struct {
	transaction string
	leg
}

// audit compares what is there with what was asked for and acknowledged. Nothing may be under way any more.
func (b *books) audit(c *caller.Caller, cuts []cut) (f findings) {
	b.t.Helper()
	there := b.headers(c)
	wanted := make(map[string]posting) // by id
	for i, a := range b.asked {
		f.add(a)
		ids := postingIDs(there[i])
		for n, id := range ids {
			wanted[id] = posting{a.id, a.legs[n]}
		}
		if a.refused && ids != nil {
			b.t.Errorf("%s was refused and is there", a.id)
		}
		for _, told := range a.acknowledged {
			if told.postings == fmt.Sprint(there[i].Each("id", "postings")) {
				continue
			}
			if before, forgotten := beforeCut(told.at, cuts); forgotten {
				f.forgotten++
				f.oldest = max(f.oldest, before)
				continue
			}
			f.lost++
			b.t.Errorf("%s was acknowledged at %v as %s, and is %s", a.id, told.at, told.postings, there[i].Body)
		}
	}
	f.duplicated = b.postings(c, wanted)
	b.balances(c, wanted)
	return f
}

func (f *findings) add(a *asked) {
	f.asked++
	for count, is := range map[*int]bool{
		&f.acknowledged: len(a.acknowledged) > 0, &f.refused: a.refused, &f.unknown: a.unknown, &f.unanswered: a.unknown && !a.answered,
	} {
		if is {
			*count++
		}
	}
}

// beforeCut tells how long before a power cut something was acknowledged that it may have made forgotten. Its answer may
// have been on its way meanwhile: then no time at all.
func beforeCut(at time.Time, cuts []cut) (time.Duration, bool) {
	for _, c := range cuts {
		if before := c.began.Sub(at); before <= forgets && at.Before(c.ended) {
			return max(0, before), true
		}
	}
	return 0, false
}

// headers reads every transaction, and holds those that are there to what was asked for.
func (b *books) headers(c *caller.Caller) []caller.Reply {
	b.t.Helper()
	there := make([]caller.Reply, len(b.asked))
	var all errgroup.Group
	all.SetLimit(looksAtOnce)
	for i, a := range b.asked {
		all.Go(func() (err error) {
			for end := time.Now().Add(quiet); ; time.Sleep(time.Second) { // a machine that is too busy may answer with 503
				there[i], err = c.Try("GET", "/v1/transactions/"+a.id, "")
				if err == nil && there[i].Status < 500 || time.Now().After(end) {
					break
				}
			}
			switch r := there[i]; {
			case err != nil:
				return err
			case r.Status == 404 && r.Code() == "transaction_not_found":
				return nil
			case r.Status != 200:
				return fmt.Errorf("%s: %d %s", a.id, r.Status, r.Body)
			case !slices.Equal(legsOf(r), a.legs):
				b.t.Errorf("%s was asked for as %v and is %s", a.id, a.legs, r.Body)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		b.t.Fatal(err)
	}
	return there
}

// postings reads every account's histories: each leg of each transaction that is there is in them once, and nothing else.
// It returns how many transactions have a leg more than once.
func (b *books) postings(c *caller.Caller, wanted map[string]posting) int {
	b.t.Helper()
	missing := maps.Clone(wanted)
	seen := make(map[string]int) // legs by transaction
	for _, account := range b.accounts {
		for _, asset := range b.assets {
			for _, item := range c.All("/v1/accounts/"+account+"/postings?consistency=strong&asset="+asset, 100) {
				id, _ := item["id"].(string)
				got := posting{fmt.Sprint(item["transaction"]), legOf(b.t, item)}
				seen[got.transaction]++
				if want, ok := missing[id]; !ok || got != want {
					b.t.Errorf("posting %s of %s is %+v, and nothing that was wanted there: %+v", id, account, got, want)
				}
				delete(missing, id)
			}
		}
	}
	for id, want := range missing {
		b.t.Errorf("posting %s is missing: %+v", id, want)
	}
	legs := make(map[string]int)
	for _, want := range wanted {
		legs[want.transaction]++
	}
	duplicated := 0
	for transaction, n := range seen {
		if n > legs[transaction] {
			duplicated++
		}
	}
	return duplicated
}

// balances compares every balance, read strongly and as projected, with the sum of what is there.
func (b *books) balances(c *caller.Caller, there map[string]posting) {
	b.t.Helper()
	type balance struct{ quantity, expenditure, credits, debits, postings int64 }
	sums := make(map[[2]string]balance)
	totals := make(map[string]int64)
	for _, p := range there {
		key := [2]string{p.account, p.asset}
		s := sums[key]
		s.quantity, s.expenditure, s.postings = s.quantity+p.quantity, s.expenditure+p.cost, s.postings+1
		if p.quantity > 0 {
			s.credits += p.quantity
		} else {
			s.debits -= p.quantity
		}
		sums[key] = s
		totals[p.asset] += p.quantity
	}
	for asset, total := range totals {
		if total != 0 {
			b.t.Errorf("all %s sum to %d", asset, total)
		}
	}
	for i := range limited {
		account := fmt.Sprint("holder-", i)
		least := int64(0)
		if i%3 == 0 {
			least = -overdraft
		}
		if s := sums[[2]string{account, "EUR"}]; s.quantity < least {
			b.t.Errorf("%s owes more than it may: %d", account, s.quantity)
		}
	}
	differences := func(consistency string) (wrong []string) {
		for _, account := range b.accounts {
			for _, asset := range b.assets {
				r := c.Must(200, "GET", "/v1/accounts/"+account+"/balances/"+asset+"?consistency="+consistency, "")
				shown := balance{
					number(b.t, r.Value("quantity")), number(b.t, r.Value("net_expenditure")), number(b.t, r.Value("credits")), number(b.t, r.Value("debits")), 0,
				}
				n, _ := r.Value("postings").(float64)
				shown.postings = int64(n)
				if want := sums[[2]string{account, asset}]; shown != want {
					wrong = append(wrong, fmt.Sprintf("%s %s is %+v, not %+v", account, asset, shown, want))
				}
			}
		}
		return wrong
	}
	if wrong := differences("strong"); wrong != nil {
		b.t.Errorf("strong reads: %s", wrong)
	}
	var wrong []string
	for end := time.Now().Add(quiet); ; time.Sleep(time.Second) {
		if wrong = differences("eventual"); wrong == nil {
			return
		}
		if time.Now().After(end) {
			b.t.Errorf("not projected within %v: %s", quiet, wrong)
			return
		}
	}
}

// postingIDs are those of a transaction that is there, else nil.
func postingIDs(r caller.Reply) (ids []string) {
	for _, id := range r.Each("id", "postings") {
		ids = append(ids, fmt.Sprint(id))
	}
	return ids
}

// legsOf are those of a transaction; a figure that is no number is none that was asked for.
func legsOf(r caller.Reply) (legs []leg) {
	list, _ := r.Value("postings").([]any)
	for _, one := range list {
		item, _ := one.(map[string]any)
		quantity, err := strconv.ParseInt(fmt.Sprint(item["quantity"]), 10, 64)
		cost, err2 := strconv.ParseInt(fmt.Sprint(item["cost"]), 10, 64)
		if err != nil || err2 != nil {
			return nil
		}
		legs = append(legs, leg{fmt.Sprint(item["account"]), fmt.Sprint(item["asset"]), quantity, cost})
	}
	return legs
}

func legOf(t *testing.T, item map[string]any) leg {
	t.Helper()
	return leg{fmt.Sprint(item["account"]), fmt.Sprint(item["asset"]), number(t, item["quantity"]), number(t, item["cost"])}
}

func number(t *testing.T, v any) int64 {
	t.Helper()
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Nothing but what was acknowledged right before a power cut, or while it lasted, may be missing.
func TestOnlyAPowerCutExcuses(t *testing.T) {
	began := time.Now()
	cuts := []cut{{began, began.Add(3 * time.Second)}, {began.Add(time.Minute), began.Add(61 * time.Second)}}
	for _, c := range []struct {
		at      time.Duration // after the first began
		excused bool
	}{
		{-time.Hour, false}, {-forgets - time.Millisecond, false}, {-forgets, true}, {0, true}, {time.Second, true},
		{3 * time.Second, false}, {30 * time.Second, false}, {time.Minute - forgets/2, true}, {2 * time.Minute, false},
	} {
		if _, excused := beforeCut(began.Add(c.at), cuts); excused != c.excused {
			t.Errorf("what was acknowledged %v after a power cut began is excused: %t", c.at, excused)
		}
	}
}
