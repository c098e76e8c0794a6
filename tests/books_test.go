package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// books are import lines, and the balances that must come out of them, summed up by other code than the ledger's.
type books struct {
	file         string
	lines        int
	transactions int
	accounts     []string
	balances     map[[2]string]int64 // by account and asset; absent is zero
}

// newBooks writes made-up books: two assets, accounts of which every tenth has a limit, and transactions of up to so many
// legs. Each limited account is given more at first than it can spend later, whatever the order.
func newBooks(t testing.TB, accounts, transactions, legs int) books {
	t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(transactions)))
	b := books{transactions: transactions, balances: map[[2]string]int64{}}
	var text strings.Builder
	line := func(format string, a ...any) {
		fmt.Fprintf(&text, format+"\n", a...)
		b.lines++
	}
	assets := []string{"EUR", "GOLD"}
	line(`{"asset":{"id":"EUR","name":"Euro","scale":2}}`)
	line(`{"asset":{"id":"GOLD","name":"Gold","scale":3,"currency":"EUR"}}`)
	line(`{"account":{"id":"world","name":"The world","overdraft":"unlimited"}}`)
	b.accounts = append(b.accounts, "world")
	for i := range accounts {
		id := fmt.Sprintf("books:%03d", i)
		b.accounts = append(b.accounts, id)
		if i%10 != 0 {
			line(`{"account":{"id":%q,"overdraft":"unlimited"}}`, id)
			continue
		}
		line(`{"account":{"id":%q}}`, id)
		for _, asset := range assets {
			const gift = 1e9
			line(`{"transfer":{"id":"gift-%s-%d","from":"world","to":%q,"asset":%q,"quantity":"%d"}}`, asset, i, id, asset, int64(gift))
			b.balances[[2]string{id, asset}] += gift
			b.balances[[2]string{"world", asset}] -= gift
		}
	}
	for i := range transactions {
		asset := assets[random.IntN(len(assets))]
		n := 2 + random.IntN(legs-1)
		postings := make([]string, n)
		sign := int64(1 - 2*random.IntN(2)) // of all legs but the last, so that none is zero
		var sum int64
		for leg := range n {
			account := b.accounts[random.IntN(len(b.accounts))]
			quantity := sign * (random.Int64N(1000) + 1) // far too small to spend a gift
			if leg == n-1 {
				quantity = -sum
			}
			sum += quantity
			postings[leg] = fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%d"}`, account, asset, quantity)
			b.balances[[2]string{account, asset}] += quantity
		}
		line(`{"transaction":{"id":"b-%d","postings":[%s]}}`, i, strings.Join(postings, ","))
	}
	b.file = filepath.Join(t.TempDir(), "books.jsonl")
	if err := os.WriteFile(b.file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// differences lists the balances that the API shows other than they must be; consistency is "" or "strong".
func (b books) differences(t testing.TB, at string, consistency string) []string {
	t.Helper()
	s := caller.New(t, at)
	var wrong []string
	for _, account := range b.accounts {
		shown := map[[2]string]int64{}
		for cursor := ""; ; {
			query := url.Values{"limit": {"100"}}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			if consistency != "" {
				query.Set("consistency", consistency)
			}
			r := s.Must(200, "GET", "/v1/accounts/"+account+"/balances?"+query.Encode(), "")
			var page struct {
				Data []struct{ Asset, Quantity string }
				Next string `json:"next_cursor"`
			}
			if err := json.Unmarshal(r.Body, &page); err != nil {
				t.Fatal(err)
			}
			for _, balance := range page.Data {
				quantity, err := strconv.ParseInt(balance.Quantity, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				shown[[2]string{account, balance.Asset}] = quantity
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		for _, asset := range []string{"EUR", "GOLD"} {
			key := [2]string{account, asset}
			if shown[key] != b.balances[key] {
				wrong = append(wrong, fmt.Sprintf("%v is %d, not %d", key, shown[key], b.balances[key]))
			}
		}
	}
	return wrong
}
