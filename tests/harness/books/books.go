// Package books generates books for tests: lines to import, and the expected balances, which it computes without the
// code of the ledger.
package books

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

const (
	// gift is the first credit of a limited account. It is large enough for all later debits, in any order.
	gift = 1_000_000_000
	// mostMoved bounds the quantity of a leg.
	mostMoved = 1000
)

// Figures has the figures of a balance.
type Figures struct{ Quantity, Expenditure int64 }

// Books has import lines and the expected balances. Ids begin with ~ (see package caller).
type Books struct {
	Lines    []string
	Accounts []string
	Assets   []string
	Balances map[[2]string]Figures // by account and asset; absent is zero
}

// New generates books: the assets ~EUR and ~GOLD, whose currency is ~EUR; accounts, of which every tenth is limited;
// and transactions of at most the given number of legs, among them trades. Equal arguments give equal books.
func New(accounts, transactions, legs int) Books {
	b := Books{Assets: []string{"~EUR", "~GOLD"}, Accounts: []string{"~world"}, Balances: make(map[[2]string]Figures)}
	b.line(`{"asset":{"id":"~EUR","name":"Euro","scale":2}}`)
	b.line(`{"asset":{"id":"~GOLD","name":"Gold","scale":3,"currency":"~EUR"}}`)
	b.line(`{"account":{"id":"~world","name":"The world","overdraft":"unlimited"}}`)
	for i := range accounts {
		id := fmt.Sprintf("~books:%03d", i)
		b.Accounts = append(b.Accounts, id)
		if i%10 != 0 {
			b.line(`{"account":{"id":%q,"overdraft":"unlimited"}}`, id)
			continue
		}
		b.line(`{"account":{"id":%q}}`, id)
		for _, asset := range b.Assets {
			b.line(`{"transfer":{"id":"~gift-%s-%d","from":"~world","to":%q,"asset":%q,"quantity":"%d"}}`, asset[1:], i,
				id, asset, gift)
			b.add(id, asset, gift, 0)
			b.add("~world", asset, -gift, 0)
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(transactions)))
	for i := range transactions {
		if i%5 == 4 {
			b.trade(random, fmt.Sprint("~b-", i))
		} else {
			b.transaction(random, fmt.Sprint("~b-", i), 2+random.IntN(legs-1))
		}
	}
	return b
}

func (b *Books) line(format string, a ...any) { b.Lines = append(b.Lines, fmt.Sprintf(format, a...)) }

func (b *Books) add(account, asset string, quantity, cost int64) {
	key := [2]string{account, asset}
	figures := b.Balances[key]
	b.Balances[key] = Figures{figures.Quantity + quantity, figures.Expenditure + cost}
}

// transaction adds a line of n legs in one asset. All legs except the last have the same sign, so that none is zero.
func (b *Books) transaction(random *rand.Rand, id string, n int) {
	asset := b.Assets[random.IntN(len(b.Assets))]
	sign := int64(1 - 2*random.IntN(2))
	var postings []string
	var quantities, costs int64
	for leg := range n {
		account := b.Accounts[random.IntN(len(b.Accounts))]
		quantity, cost := sign*(random.Int64N(mostMoved)+1), int64(0)
		if asset == "~GOLD" {
			cost = random.Int64N(2*mostMoved) - mostMoved
		}
		if leg == n-1 {
			quantity, cost = -quantities, -costs
		}
		quantities, costs = quantities+quantity, costs+cost
		postings = append(postings, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%d","cost":"%d"}`, account, asset,
			quantity, cost))
		b.add(account, asset, quantity, cost)
	}
	b.line(`{"transaction":{"id":%q,"postings":[%s]}}`, id, strings.Join(postings, ","))
}

// trade adds a line of a trade of gold. About half of the trades are settled.
func (b *Books) trade(random *rand.Rand, id string) {
	parties := random.Perm(len(b.Accounts))
	buyer, seller := b.Accounts[parties[0]], b.Accounts[parties[1]]
	quantity, cost, settle := random.Int64N(mostMoved)+1, random.Int64N(mostMoved), random.IntN(2) == 0
	b.line(`{"trade":{"id":%q,"asset":"~GOLD","buyer":%q,"seller":%q,"quantity":"%d","cost":"%d","settle":%t}}`, id,
		buyer, seller, quantity, cost, settle)
	b.add(buyer, "~GOLD", quantity, cost)
	b.add(seller, "~GOLD", -quantity, -cost)
	if settle {
		b.add(buyer, "~EUR", -cost, 0)
		b.add(seller, "~EUR", cost, 0)
	}
}

// Text returns all lines, with ~ replaced by a prefix.
func (b Books) Text(prefix string) string {
	return strings.ReplaceAll(strings.Join(b.Lines, "\n")+"\n", "~", prefix)
}

// File writes the lines, without a prefix, to a temporary file.
func (b Books) File(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "books.jsonl")
	if err := os.WriteFile(file, []byte(b.Text("")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Differences returns the balances of the API that differ from the expected ones. consistency is eventual or strong.
func (b Books) Differences(c *caller.Caller, consistency string) []string {
	c.T.Helper()
	var wrong []string
	for _, account := range b.Accounts {
		shown := make(map[string][2]string)
		for _, balance := range c.All("/v1/accounts/"+account+"/balances?consistency="+consistency, 100) {
			shown[fmt.Sprint(balance["asset"])] = [2]string{fmt.Sprint(balance["quantity"]),
				fmt.Sprint(balance["net_expenditure"])}
		}
		for _, asset := range b.Assets {
			figures, moved := b.Balances[[2]string{account, asset}]
			want := [2]string{fmt.Sprint(figures.Quantity), fmt.Sprint(figures.Expenditure)}
			if c.Prefix == "" {
				asset = asset[1:]
			}
			if got, ok := shown[asset]; ok != moved || ok && got != want {
				wrong = append(wrong, fmt.Sprintf("%s %s is %q, not %q", account, asset, got, want))
			}
		}
	}
	return wrong
}
