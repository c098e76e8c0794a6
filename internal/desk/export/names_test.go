package export

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/internal/desk/books"
)

// beancountValid matches what beancountName and accountName return.
var beancountValid = regexp.MustCompile(
	`^(Assets|Liabilities|Equity|Income|Expenses)(:[\p{Lu}0-9][\pL0-9-]*)+$`)

// No two accounts have the same name in a book, whatever their ids and names are. A name is valid, and an export that
// goes on from a state gives the same ones.
func TestNamesOfAccounts(t *testing.T) {
	texts := rapid.StringMatching(`(expenses|Expenses|income|x|Equity:Ledger)(:(food|Food|Food-2|f |é|X-a|a\(|2)){0,2}( \(2\))?`)
	rapid.Check(t, func(t *rapid.T) {
		hledger, beancount := new(names), new(names)
		defined := make(seen)
		written := make(map[string]string)
		for range rapid.IntRange(1, 12).Draw(t, "accounts") {
			name := texts.Draw(t, "name")
			a := client.Account{ID: books.ID(texts.Draw(t, "id")), Name: name}
			if rapid.Bool().Draw(t, "from a book") {
				a.ID = books.ID(name)
			}
			if !defined.isNew(a.ID) {
				continue
			}
			for _, n := range []*names{hledger, beancount} {
				restored := new(names)
				for id, name := range n.of {
					restored.set(id, name)
				}
				give := (*names).giveHledger
				if n == beancount {
					give = (*names).giveBeancount
				}
				give(n, a, defined)
				if give(restored, a, defined); restored.in(a.ID) != n.in(a.ID) {
					t.Fatalf("%q is %q, and after a restore %q", a.ID, n.in(a.ID), restored.in(a.ID))
				}
			}
			for what, name := range map[string]string{"hledger": hledger.in(a.ID), "beancount": beancount.in(a.ID)} {
				if other, isTaken := written[what+name]; isTaken {
					t.Fatalf("%s: %q and %q are both %q", what, other, a.ID, name)
				}
				written[what+name] = a.ID
			}
			if name := beancount.in(a.ID); !beancountValid.MatchString(name) {
				t.Fatalf("%q is %q", a.ID, name)
			}
		}
	})
}
