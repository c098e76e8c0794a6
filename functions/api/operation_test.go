package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/ledger"
	"ledger.example/tests/declared"
)

// building is a command that all requests fit.
type building struct{ declared.Boat }

func (building) Shape() []ledger.FieldError { return nil }

// The server and the client derive the request and the answer of an operation from its declaration: every field gets
// there and back, and the ledger's own fields are taken only if they are equal.
func TestDeclaredOperation(t *testing.T) {
	f := newFixture(t)
	stored := map[string]declared.Boat{}
	read := func(_ Resources, _ context.Context, id string) (declared.Boat, error) {
		boat, ok := stored[id]
		if !ok {
			return boat, ledger.GroupNotFound()
		}
		return boat, nil
	}
	build := func(_ Commands, _ context.Context, b building) (declared.Boat, bool, error) {
		_, known := stored[b.ID]
		boat := b.Boat
		boat.BuiltAt = "2026-11-21T09:00:00.000000Z"
		stored[b.ID] = boat
		return boat, !known, nil
	}
	commandOf := func(_ *request, in *declared.Boat) building { return building{*in} }
	show := func(b declared.Boat) declared.Boat { return b }
	f.Handler = &api{
		config: f.config, routes: checkRules([]route{put(declared.PutBoat, commandOf, build, read, show)}),
	}
	server := httptest.NewServer(f.Handler)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}

	ketch := declared.Boat{ID: "ketch", Name: "Ketch", Masts: 2, Port: "home"}
	first, err := declared.PutBoat.Call(t.Context(), c, ketch)
	ketch.BuiltAt = "2026-11-21T09:00:00.000000Z"
	if err != nil || !first.New || first.Value != ketch {
		t.Fatalf("answered %+v, new: %t, %v", first.Value, first.New, err)
	}
	again, err := declared.PutBoat.Call(t.Context(), c, first.Value)
	if err != nil || again.New || again.Value != ketch {
		t.Errorf("the answer, sent back, is answered with %+v, new: %t, %v", again.Value, again.New, err)
	}
	for body, wanted := range map[string]string{
		`{"port":"-","name":1,"masts":"two"}`:            "port " + ruleID + "; name " + ruleText + "; masts " + ruleInteger,
		`{"masts":1}`:                                    "name " + ruleRequired,
		`{"name":"x","id":"sloop"}`:                      "id " + rulePath,
		`{"name":"x","built_at":"2026-01-01T00:00:00Z"}`: "built_at " + ruleEqual,
		`{"name":"x","sails":3}`:                         "sails " + ruleKnown,
	} {
		w := f.do(t, http.MethodPut, "/v1/boats/ketch", body)
		var faults []string
		for _, fault := range answer[problem](t, w).Errors {
			faults = append(faults, fault.Field+" "+fault.Rule)
		}
		if w.Code != 400 || strings.Join(faults, "; ") != wanted {
			t.Errorf("%s: answered %d %s", body, w.Code, w.Body)
		}
	}
	if w := f.do(t, http.MethodPut, "/v1/boats/ketch?limit=1", `{"name":"x"}`); w.Code != 400 {
		t.Errorf("a parameter that is not declared is answered with %d", w.Code)
	}
}
