package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/access"
)

// A route under /v1 that nobody gave a rule is not served, and what is public has none.
func TestEveryRouteHasItsRule(t *testing.T) {
	for _, r := range routes() {
		if (r.may == rule{}) != r.public() {
			t.Errorf("%s %s is public: %v, and has the rule %v", r.method, r.pattern, r.public(), r.may)
		}
	}
	defer func() {
		if said, _ := recover().(string); !strings.Contains(said, "GET /v1/new") {
			t.Errorf("a route without a rule started, or said %q", said)
		}
	}()
	checkRules([]route{{method: http.MethodGet, pattern: "/v1/new"}})
}

// What a handler answers to a user without a check does not leave.
func TestNothingLeavesUnchecked(t *testing.T) {
	r := &request{caller: access.Caller{User: "ann", Service: "x"}, rule: rule{of: onAnyLeg}}
	if out, err := r.finishCheck(reply{body: "secret"}, nil); err == nil || out.body != nil {
		t.Errorf("answered %v, %v", out, err)
	}
	r.isPermitted = true
	if out, err := r.finishCheck(reply{body: "news"}, nil); err != nil || out.body != "news" {
		t.Errorf("answered %v, %v", out, err)
	}
}

// brokenGrants cannot be read, or panic.
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

// A check that fails in any way is 503, for reads and for writes, and nobody passes without grants or as nobody.
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
