package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
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
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "account of api.undeclared") {
			t.Errorf("the route started, or said %q", said)
		}
	}()
	checkRules([]route{read(client.Op[client.AccountID, undeclared]{
		Path: account, May: client.ListBalances.May,
	}, nil)})
}

// A user gets no answer that names an account on which they have no role. From a list of things of other accounts, what
// names such an account is left out.
func TestNewRoutesDoNotLeak(t *testing.T) {
	f := newFixture(t)
	stored := func(_ *projections.Lists, _ context.Context, _ string, s projections.Slice) (
		p projections.Page[string], _ error,
	) {
		p.Items = []string{"shop", "jane", "market", "margin"}[:min(4, s.Limit)]
		return p, nil
	}
	viewers := client.ListBalances.May
	f.Handler = &api{config: f.config, routes: checkRules([]route{
		list(client.Op[client.AccountID, client.List[counterparty]]{
			ID: "listCounterparties", Path: "/v1/accounts/{account}/counterparties", May: viewers,
		}, isID, those[client.AccountID](stored), func(id string) counterparty { return counterparty{id} }),
		list(client.Op[client.UserID, client.List[partner]]{
			ID: "listPartners", Path: "/v1/users/{user}/partners", May: client.ListMemberships.May,
		}, isID, those[client.UserID](stored), func(id string) partner { return partner{Of: id} }),
		read(client.Op[client.AccountID, counterparty]{
			ID: "getCounterparty", Path: "/v1/accounts/{account}/counterparty", May: viewers,
		}, func(*api, *request, *client.AccountID) (reply, error) {
			return ok(raw{csvType, []byte("shop"), counterparty{"shop"}})
		}),
	})}
	for path, wanted := range map[string]string{
		"/v1/accounts/jane/counterparties": "",
		"/v1/accounts/jane/counterparty":   "",
		"/v1/users/u-17/partners":          "jane market",
	} {
		if w := f.do(t, http.MethodGet, path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "shop") {
			t.Errorf("%s by a service: %d %s", path, w.Code, w.Body)
		}
		w := f.do(t, http.MethodGet, path, "", userHeader, "u-17")
		var named []string
		for _, id := range []string{"jane", "market", "margin", "shop"} {
			if strings.Contains(w.Body.String(), id) {
				named = append(named, id)
			}
		}
		if got := strings.Join(named, " "); got != wanted || (w.Code == 200) != (wanted != "") {
			t.Errorf("%s by a user: %d %s", path, w.Code, w.Body)
		}
	}
}
