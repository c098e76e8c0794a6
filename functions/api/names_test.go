package api

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
)

// The types of answers of routes that somebody could add.
type (
	undeclared struct {
		Account string `json:"account"`
	}
	sizedID struct {
		Account string `json:"account" is:"ID"`
	}
	counterparty struct {
		Account string `json:"account" names:"account"`
	}
	openText struct {
		Tags map[string]string `json:"tags"`
	}
	anonymous struct {
		Quantity events.Amount `json:"quantity"`
	}
	partner struct {
		Of    string        `json:"of" names:"account"`
		Owes  events.Amount `json:"owes"`
		Names []string      `json:"names" is:"Text"`
	}
	nested struct {
		Items []*struct{ undeclared } `json:"items"`
	}
)

// A route that users may use does not start if its answer does not say what it names.
func TestUndeclaredAnswersAreNotServed(t *testing.T) {
	const account, ledgers = "/v1/accounts/{account}/x", "/v1/x"
	for at, c := range map[string]struct {
		err    error
		starts bool
	}{
		"an id":                 {checkDeclared(account, reflect.TypeFor[undeclared]()), false},
		"an id by its syntax":   {checkDeclared(account, reflect.TypeFor[sizedID]()), false},
		"a list":                {checkDeclared(account, reflect.TypeFor[client.List[undeclared]]()), false},
		"deep":                  {checkDeclared(account, reflect.TypeFor[nested]()), false},
		"a map":                 {checkDeclared(account, reflect.TypeFor[openText]()), false},
		"of another type":       {checkDeclared(account, reflect.TypeFor[float64]()), false},
		"an amount of nobody":   {checkDeclared(ledgers, reflect.TypeFor[anonymous]()), false},
		"an amount of the path": {checkDeclared(account, reflect.TypeFor[anonymous]()), true},
		"an amount of an item":  {checkDeclared(ledgers, reflect.TypeFor[client.List[partner]]()), true},
		"a declared id":         {checkDeclared(account, reflect.TypeFor[counterparty]()), true},
	} {
		if starts := c.err == nil; starts != c.starts || !starts && !errors.Is(c.err, errUndeclared) {
			t.Errorf("%s: %v", at, c.err)
		}
	}
	for said, start := range map[string]func(){
		"account of api.undeclared": func() {
			checkRules([]route{read(client.Op[client.AccountID, undeclared]{Path: account, May: client.ListBalances.May}, nil)})
		},
		"a page without positions": func() {
			checkRules([]route{read(client.Op[client.AccountID, client.List[counterparty]]{
				Path: account, May: client.ListBalances.May,
			}, nil)})
		},
		"may be an id": func() { positionsOf([]part{aKSUID, {valid: events.ValidID}}) },
	} {
		if got := panics(start); !strings.Contains(got, said) {
			t.Errorf("the route started, or said %q, not %q", got, said)
		}
	}
}

// panics returns what do panics with.
func panics(do func()) (said string) {
	defer func() { said = fmt.Sprint(recover()) }()
	do()
	return ""
}
