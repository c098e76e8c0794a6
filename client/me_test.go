package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A client with a user sends Ledger-User. A missing role does not prove that an earlier attempt failed.
func TestWithUser(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Ledger-User"))
		w.Header().Set("Content-Type", "application/problem+json")
		switch {
		case r.URL.Path == "/v1/me":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"as":"user","user":"ann","service":"s","actor":"ann via s"}`))
		case len(asked) == 2: // it may have been applied
			w.WriteHeader(502)
		default:
			w.WriteHeader(403)
			_, _ = w.Write([]byte(`{"type":"/problems/forbidden","title":"x","status":403,"code":"forbidden","detail":"x",` +
				`"request_id":"r"}`))
		}
	}))
	t.Cleanup(server.Close)
	plain, err := New(Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	plain.wait = func(context.Context, time.Duration) error { return nil }
	c, err := plain.WithUser("ann")
	if err != nil {
		t.Fatal(err)
	}
	me, err := c.Me(t.Context())
	if err != nil || *me.Value.User != "ann" || me.Value.Actor != "ann via s" || asked[0] != "ann" {
		t.Errorf("got %+v, %v as %q", me.Value, err, asked)
	}
	transfer := Transfer{ID: "t", From: "a", To: "b", Asset: "USD"}
	var unknown *UnknownError
	if _, _, err := c.Post(t.Context(), transfer); !errors.As(err, &unknown) {
		t.Errorf("a 403 after a 502 is %v", err)
	}
	if _, _, err := c.Post(t.Context(), transfer); !isCode(err, CodeForbidden) {
		t.Errorf("a 403 is %v", err)
	}
	for _, user := range []string{"", "a b"} {
		if _, err := c.WithUser(user); !errors.Is(err, ErrID) {
			t.Errorf("user %q: %v", user, err)
		}
	}
	if _, err := New(Config{URL: server.URL, User: "a b"}); !errors.Is(err, ErrID) {
		t.Error(err)
	}
}
