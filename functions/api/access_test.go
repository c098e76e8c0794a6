package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/ledger"
)

// Every route under /v1 has an access rule, and New panics for one without. Public routes have none.
func TestEveryRouteHasAnAccessRule(t *testing.T) {
	for _, r := range routes() {
		if (r.may == rule{}) != r.public() {
			t.Errorf("%s %s is public: %v, and has the rule %v", r.Method, r.Path, r.public(), r.may)
		}
	}
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "GET /v1/new") {
			t.Errorf("a route without a rule started, or said %q", said)
		}
	}()
	checkRules([]route{{Operation: client.Operation{Method: http.MethodGet, Path: "/v1/new"}}})
}

// If no check was made for a user, the handler's answer is replaced by an error.
func TestUncheckedAnswersAreWithheld(t *testing.T) {
	r := &request{caller: access.Caller{User: "ann", Service: "x"}, rule: rule{of: client.OnAnyLeg}}
	if out, err := r.checked(reply{body: "secret"}, nil); err == nil || out.body != nil {
		t.Errorf("answered %v, %v", out, err)
	}
	r.isPermitted = true
	if out, err := r.checked(reply{body: "news"}, nil); err != nil || out.body != "news" {
		t.Errorf("answered %v, %v", out, err)
	}
	r.body = &body{} // with faults that nobody looked at
	if out, err := r.checked(reply{body: "news"}, nil); err == nil || out.body != nil {
		t.Errorf("answered %v, %v without a check of the body", out, err)
	}
}

// brokenGrants fails or panics.
type brokenGrants struct {
	access.Grants
	panics bool
}

func (b brokenGrants) NewestGrant(context.Context, string, string) (events.Role, int64, error) {
	if b.panics {
		panic("no grants")
	}
	return events.RoleOwner, 1, errors.New("a part of an answer")
}

func (brokenGrants) NewestGroups(context.Context, string) ([]string, int64, error) {
	return nil, 0, nil
}

// If a check fails or panics, reads and writes are answered with 503. So are checks without grants or without a user.
func TestBrokenChecksAre503(t *testing.T) {
	f := newFixture(t)
	for name, grants := range map[string]access.Grants{
		"none": nil, "an error": brokenGrants{}, "a panic": brokenGrants{panics: true},
	} {
		c := f.config
		c.Grants = grants
		f.Handler = New(c)
		for _, r := range [][3]string{
			{"GET", "/v1/accounts/jane", ""}, {"GET", "/v1/transactions/t-1", ""}, {"POST", "/v1/transfers", goodTransfer},
			{"DELETE", "/v1/accounts/jane/members/u-17", ""}, {"POST", "/v1/transactions/t-1/reversals", `{}`},
		} {
			if w := f.do(t, r[0], r[1], r[2], userHeader, "u-17"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: %s %s answered %d %s", name, r[0], r[1], w.Code, w.Body)
			}
		}
	}
}

// Lists come from projections, which lag. After a revocation was acknowledged, no list shows the user what they lost:
// their own accounts and groups, and accounts that were taken out of their group.
func TestListsHideRevokedItems(t *testing.T) {
	f := newFixture(t)
	list := func(path, want string) {
		t.Helper()
		for _, user := range [][]string{{userHeader, "u-17"}, nil} {
			shown := f.do(t, "GET", path, "", user...).Body.String()
			if has := strings.Contains(shown, want); has != (user == nil) {
				t.Errorf("%s as %v: %s", path, user, shown)
			}
		}
	}
	revoke := func(path string) {
		t.Helper()
		if w := f.do(t, "DELETE", path, ""); w.Code != 200 {
			t.Fatalf("%s answered %d %s", path, w.Code, w.Body)
		}
	}
	revoke("/v1/groups/desk/accounts/market")
	list("/v1/groups/desk/accounts", "market")
	list("/v1/users/u-17/accounts", "market")
	if w := f.do(t, "GET", "/v1/groups/desk/accounts", "", userHeader, "u-17"); !strings.Contains(w.Body.String(), "jane") {
		t.Errorf("the rest of the group: %s", w.Body)
	}
	revoke("/v1/groups/desk/members/u-17")
	list("/v1/users/u-17/groups", "desk")
	if w := f.do(t, "GET", "/v1/users/u-17/accounts", "", userHeader, "u-17"); !strings.Contains(w.Body.String(), "jane") {
		t.Errorf("the role of their own: %s", w.Body)
	}
	revoke("/v1/accounts/jane/members/u-17")
	list("/v1/users/u-17/accounts", "jane")
}

// onceAway fails the first read of a transaction.
type onceAway struct {
	Resources
	failed bool
}

func (o *onceAway) Transaction(ctx context.Context, id string) (events.TransactionPosted, error) {
	if !o.failed {
		o.failed = true
		return events.TransactionPosted{}, &ledger.Error{Code: ledger.CodeUnavailable}
	}
	return o.Resources.Transaction(ctx, id)
}

// If the check of a request of a batch fails, the later ones for its transaction wait: the reversal of a hold is not
// judged before the capture. So the batch can be sent again.
func TestBatchKeepsItsOrderAfterAFailedCheck(t *testing.T) {
	f := newFixture(t)
	hold := strings.Replace(placed, "shop", "market", 1)
	if w := f.do(t, "POST", "/v1/transfers", hold, userHeader, "u-17"); w.Code != 201 {
		t.Fatal(w.Body)
	}
	c := f.config
	c.Resources = &onceAway{Resources: c.Resources}
	f.Handler = New(c)
	for _, want := range []int{503, 200} {
		w := f.do(t, "POST", "/v1/batches", `{"requests":[{"capture":{"transaction":"h-1"}},{"reversal":{"id":"r-1","transaction":"h-1"}},{"reversal":{"id":"r-2","transaction":"t-1"}}]}`,
			userHeader, "u-17")
		results := answer[struct{ Results []struct{ Status int } }](t, w).Results
		if len(results) != 3 || results[0].Status/100 != want/100 || results[1].Status/100 != want/100 || results[2].Status/100 != 2 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
