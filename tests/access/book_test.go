package access

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"ledger.example/events"
	"ledger.example/functions/access"
)

var (
	bookUsers    = []string{"ann", "bob", "cat"}
	bookAccounts = []string{"acc_0", "acc_1", "acc_2", "acc_3", "acc_4", "acc_5"} // the last one is closed
	bookAssets   = []string{"OPEN", "SECRET"}
)

// book is a random history on a fleet.
type book struct {
	*fleet
	random *rand.Rand
	n      int // of the last transaction
	posted []string
	codes  map[string]int // of answers

	direct map[string]access.Role // by user and account
	member map[string]access.Role // by user and group
}

// The accounts with even numbers are in the group even.
func (b *book) role(user, account string) access.Role {
	role := b.direct[user+account]
	if account != "" && (account[len(account)-1]-'0')%2 == 0 {
		role = max(role, b.member[user])
	}
	return role
}

func newBook(f *fleet, seed uint64, codes map[string]int) *book {
	b := &book{
		fleet: f, random: rand.New(rand.NewPCG(22, seed)), codes: codes,
		direct: map[string]access.Role{}, member: map[string]access.Role{},
	}
	f.must(`PUT /v1/assets/OPEN {"name":"Open","scale":0}`)
	f.must(`PUT /v1/assets/SECRET {"name":"Secret","scale":0,"currency":"OPEN"}`)
	f.must(`PUT /v1/groups/even {}`)
	for i, account := range bookAccounts {
		limit := []string{"150000", "400000"}[i/(len(bookAccounts)-1)] // the one that is closed pays first
		f.must(`PUT /v1/accounts/` + account + ` {"overdraft":{"OPEN":"` + limit + `","SECRET":"` + limit + `"}}`)
		if i%2 == 0 {
			f.must(`PUT /v1/groups/even/accounts/` + account)
		}
	}
	closed := bookAccounts[len(bookAccounts)-1]
	for range 4 { // what is reversed of these would credit the closed account
		p := b.transaction([]string{closed, "acc_0", "acc_1", "acc_2"}, "OPEN")
		f.must("POST " + p.line("", ""))
		b.posted = append(b.posted, p.id)
	}
	quantity := read(send(f.admin, "GET /v1/accounts/"+closed+"/balances/OPEN?consistency=strong", ""))
	f.must(`POST /v1/transfers {"from":"bank","to":"` + closed + `","asset":"OPEN","quantity":"` +
		strings.TrimPrefix(quantity.Quantity, "-") + `"}`)
	_ = f.projector.Refold(f.t.Context(), events.Pair{Account: closed, Asset: "OPEN"}, nil)
	f.must(`PATCH /v1/accounts/` + closed + ` {"state":"closed"}`)
	for range 6 {
		for _, user := range bookUsers {
			b.grant(user)
		}
	}
	return b
}

func one[T any](b *book, of ...T) T { return of[b.random.IntN(len(of))] }

// amount returns an amount of 5 digits.
func (b *book) amount() int { return 10000 + b.random.IntN(89999) }

// post is a posting request, and the accounts that its fields name.
type post struct {
	kind, id, body string
	named          []namedAccount
}

type namedAccount struct {
	account, field string
	needsRole      bool // it is debited, or given a cost
}

// line returns the request. hold makes it a hold.
func (p post) line(query, hold string) string {
	return "/v1/" + p.kind + "s" + query + " " + strings.TrimSuffix(p.body, "}") + hold + "}"
}

// transaction returns a transaction in which the first of the accounts pays the others, and sometimes costs move, too.
func (b *book) transaction(accounts []string, asset string) post {
	p, legs := b.newPost("transaction"), []string(nil)
	leg := func(account, asset string, quantity, cost int) {
		p.named = append(p.named, namedAccount{
			account, fmt.Sprintf("postings[%d].account", len(legs)), quantity <= 0 || cost != 0,
		})
		legs = append(legs, fmt.Sprintf(`{"account":"%s","asset":"%s","quantity":"%d","cost":"%d"}`, account, asset,
			quantity, cost))
	}
	sum := 0
	for _, account := range accounts[1:] {
		quantity := b.amount() / 4
		sum += quantity
		leg(account, asset, quantity, 0)
	}
	leg(accounts[0], asset, -sum, 0)
	if closed := bookAccounts[len(bookAccounts)-1]; accounts[0] != closed && b.random.IntN(3) == 0 {
		quantity, cost := b.amount(), one(b, -1, 0, 1)*b.amount()
		if cost != 0 {
			quantity *= one(b, 0, 1)
		}
		leg(accounts[0], "SECRET", quantity, cost)
		leg(accounts[1], "SECRET", -quantity, -cost)
	}
	p.body = `{"id":"` + p.id + `","postings":[` + strings.Join(legs, ",") + `]}`
	return p
}

func (b *book) newPost(kind string) post {
	b.n++
	return post{kind: kind, id: fmt.Sprintf("n_%d", b.n)}
}

// draw returns a random posting request.
func (b *book) draw() post {
	some := slices.Clone(bookAccounts)
	if b.random.IntN(8) > 0 {
		some = some[:len(some)-1] // without the closed one
	}
	b.random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	from, to := some[0], some[1]
	switch b.random.IntN(3) {
	case 0:
		p := b.newPost("transfer")
		p.body = fmt.Sprintf(`{"id":"%s","from":"%s","to":"%s","asset":"%s","quantity":"%d"}`, p.id, from, to,
			one(b, bookAssets...), b.amount())
		p.named = []namedAccount{{from, "from", true}, {to, "to", false}}
		return p
	case 1:
		p, cost := b.newPost("trade"), one(b, 0, 1)*b.amount()
		p.body = fmt.Sprintf(`{"id":"%s","buyer":"%s","seller":"%s","asset":"SECRET","quantity":"%d","cost":"%d",`+
			`"settle":%t}`, p.id, to, from, b.amount(), cost, one(b, true, false))
		p.named = []namedAccount{{to, "buyer", cost != 0}, {from, "seller", true}}
		return p
	}
	return b.transaction(some[:2+b.random.IntN(3)], one(b, bookAssets...))
}

// take returns the body of a capture or a reversal: all of it, a part, or something that does not fit.
func (b *book) take(all stored, action string) string {
	id := ""
	if action == "reversals" {
		b.n++
		id = fmt.Sprintf(`"id":"n_%d"`, b.n)
		if b.random.IntN(20) == 0 { // of another transaction
			id = `"id":"d"`
		}
	}
	if b.random.IntN(6) == 0 {
		return "{" + id + "}"
	}
	if id != "" {
		id += ","
	}
	if all.Kind == "transfer" || all.Kind == "trade" || b.random.IntN(8) == 0 {
		return fmt.Sprintf(`{%s"quantity":"%d","cost":"%d"}`, id, b.amount(), one(b, 0, 1)*b.amount())
	}
	var amounts []string
	factor := one(b, 1, 1, 2, 0)
	for _, l := range all.Postings {
		var quantity, cost int
		_, _ = fmt.Sscan(l.Quantity+" "+l.Cost, &quantity, &cost)
		quantity, cost = quantity*factor, cost*factor
		if b.random.IntN(6) == 0 {
			quantity = one(b, -quantity, quantity+1, 0)
		}
		amounts = append(amounts, fmt.Sprintf("%d:%d", quantity, cost))
	}
	return part(id, amounts...)
}

// part returns the body of a capture or a reversal that takes amounts of postings: "quantity" or "quantity:cost".
func part(before string, amounts ...string) string {
	for i, a := range amounts {
		quantity, cost, _ := strings.Cut(a+":0", ":")
		cost, _, _ = strings.Cut(cost, ":")
		amounts[i] = `{"quantity":"` + quantity + `","cost":"` + cost + `"}`
	}
	return `{` + before + `"postings":[` + strings.Join(amounts, ",") + `]}`
}
