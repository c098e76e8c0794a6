package export

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"ledger.example/client"
	"ledger.example/internal/desk/books"
)

// names has the names of accounts in a book that are not their ids. An account keeps the name with which it was first
// written. No two have the same one.
type names struct {
	of    map[string]string // by id
	taken map[string]bool
}

// in returns the name of an account in a book.
func (n *names) in(id string) string {
	if name, ok := n.of[id]; ok {
		return name
	}
	return id
}

// give gives an account the first of some names that is free. others makes more names. accounts have one already.
func (n *names) give(id string, accounts seen, wanted []string, others func(number int) string) {
	for number := 2; ; number++ {
		for _, name := range wanted {
			if !n.isTaken(name, id, accounts) {
				n.set(id, name)
				return
			}
		}
		wanted = []string{others(number)}
	}
}

func (n *names) set(id, name string) {
	if n.of == nil {
		n.of, n.taken = make(map[string]string), make(map[string]bool)
	}
	if name != id {
		n.of[id], n.taken[name] = name, true
	}
}

// isTaken reports whether another account is written by a name. accounts has id, too.
func (n *names) isTaken(name, id string, accounts seen) bool {
	_, isRenamed := n.of[name]
	return n.taken[name] || name != id && !isRenamed && accounts.has(name)
}

// bookName returns the name that an account had in the book from which it was imported. ok is false if its name is not
// one of a book: then it does not make the id, and has no levels.
func bookName(a client.Account) (name string, ok bool) {
	return a.Name, a.Name != "" && (books.IsIDOf(a.Name, a.ID) || levels.MatchString(a.Name))
}

var levels = regexp.MustCompile(`^\S[^:]*(:\S[^:]*)+$`)

// hledgerAccount matches names of accounts that hledger reads unchanged: no two spaces in sequence, nothing at the
// beginning that has a meaning, and nothing that ends the name.
var hledgerAccount = regexp.MustCompile(`^[\pL\pN\p{Sc}](\S| \S)*$`)

// giveHledger gives an account its name in hledger.
func (n *names) giveHledger(a client.Account, accounts seen) {
	var wanted []string
	if name, ok := bookName(a); ok && hledgerAccount.MatchString(name) && !strings.ContainsAny(name, ";\x00\u00a0") &&
		strings.IndexFunc(name, isHidden) < 0 {
		wanted = append(wanted, name)
	}
	others := func(number int) string { return fmt.Sprintf("%s (%d)", a.ID, number) }
	n.give(a.ID, accounts, append(wanted, a.ID), others)
}

func isHidden(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// plainSymbol matches commodities that hledger reads without quotes.
var plainSymbol = regexp.MustCompile(`^[\pL\p{Sc}]+$`)

// symbol returns the symbol of an asset in hledger: that of the book from which it was imported, or the id.
func symbol(a client.Asset) string {
	name := a.ID
	if books.ID(a.Name) == a.ID && !strings.ContainsAny(a.Name, "\",[];") && strings.IndexFunc(a.Name, isHidden) < 0 {
		name = a.Name
	}
	if plainSymbol.MatchString(name) {
		return name
	}
	return `"` + name + `"`
}

var beancountRoots = []string{"Assets", "Liabilities", "Equity", "Income", "Expenses"}

// beancountName returns a name that is valid in beancount: of the five roots, with capitals. ok is false if the first
// level is no root.
func beancountName(name string) (valid string, ok bool) {
	parts := strings.Split(name, ":")
	for i, part := range parts {
		part = strings.Trim(invalidInBeancount.ReplaceAllString(part, "-"), "-")
		r := []rune(part)
		if len(r) == 0 {
			return "", false
		}
		r[0] = unicode.ToUpper(r[0])
		if parts[i] = string(r); r[0] < unicode.MaxASCII && !unicode.IsUpper(r[0]) && !unicode.IsDigit(r[0]) {
			return "", false
		}
	}
	root := slices.IndexFunc(beancountRoots, func(root string) bool { return strings.EqualFold(root, parts[0]) })
	if root < 0 || len(parts) < 2 {
		return "", false
	}
	parts[0] = beancountRoots[root]
	valid = strings.Join(parts, ":")
	return valid, !strings.HasPrefix(valid, beancountRoot)
}

var invalidInBeancount = regexp.MustCompile(`[^\pL0-9]+`)

// giveBeancount gives an account its name in beancount.
func (n *names) giveBeancount(a client.Account, accounts seen) {
	var wanted []string
	if accountName(a.ID) == a.ID {
		wanted = append(wanted, a.ID)
	}
	name, ok := bookName(a)
	for _, name := range []string{name, a.ID} {
		if valid, isValid := beancountName(name); isValid && (ok || name == a.ID) {
			wanted = append(wanted, valid)
			break
		}
	}
	if len(wanted) == 0 {
		n.set(a.ID, accountName(a.ID)) // no other account has it
		return
	}
	last := wanted[len(wanted)-1]
	n.give(a.ID, accounts, wanted, func(number int) string { return fmt.Sprintf("%s-%d", last, number) })
}
