package refusals

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Recent keeps the newest refusals, also where nothing is printed, and says when it has lost some.
func TestRecent(t *testing.T) {
	var printed bytes.Buffer
	recent := NewRecent(slog.NewTextHandler(&printed, &slog.HandlerOptions{Level: slog.LevelWarn}))
	log := slog.New(recent).With("function", "api")
	ask := func(q Query) Page {
		t.Helper()
		page, err := recent.Refusals(t.Context(), q)
		if err != nil {
			t.Error(err)
		}
		return page
	}
	log.Info("request", "transaction", "posted", "status", 201)
	log.Info("request", "transaction", "a", "code", "forbidden", "status", 403, "actor", "ann via shop", "Refusals", 1)
	log.Info("request", "transaction", "b", "code", "unbalanced", "status", 422, "actor", "joann via shop", "Refusals", 1)
	log.Warn("request", "code", "throttled", "status", 503)
	for wanted, q := range map[string]Query{
		"b a": {}, "a": {User: "ann"}, "b": {Code: "unbalanced"}, "": {ID: "posted"},
		" ": {Since: time.Now().Add(time.Hour)}, "a ": {ID: "a", Code: "forbidden", Since: time.Now().Add(-time.Hour)},
	} {
		var ids []string
		page := ask(q)
		for _, r := range page.Data {
			ids = append(ids, r.Transaction)
		}
		if got := strings.Join(ids, " "); got != strings.TrimSpace(wanted) || page.More {
			t.Errorf("%+v: %q, want %q", q, got, wanted)
		}
	}
	if text := printed.String(); strings.Contains(text, "Refusals") || !strings.Contains(text, "throttled") {
		t.Errorf("it printed %s", text)
	}
	for i := range kept {
		log.Info("request", "transaction", fmt.Sprint(i), "code", "forbidden", "Refusals", 1)
	}
	if page := ask(Query{}); len(page.Data) != Most || !page.More || page.Data[0].Transaction != fmt.Sprint(kept-1) {
		t.Errorf("%d of %d, the newest %q, more: %t", len(page.Data), kept, page.Data[0].Transaction, page.More)
	}
	if page := ask(Query{ID: "a"}); len(page.Data) != 0 || !page.More {
		t.Errorf("what was dropped: %+v", page)
	}
	if page := ask(Query{ID: "0"}); len(page.Data) != 1 {
		t.Errorf("the oldest that is kept: %+v", page)
	}
}
