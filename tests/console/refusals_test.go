package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
	"ledger.example/internal/desk/refusals"
)

// The page shows what the log has, in words and in the zone of the page. As a user, one sees one's own only. A console
// without a log says where to ask.
func TestRefusalsPage(t *testing.T) {
	s := newSite(t)
	recent := refusals.NewRecent(slog.DiscardHandler)
	for _, r := range [][2]string{{"t-1", "local"}, {"t-2", "ann via local"}} {
		slog.New(recent).Info("request", "transaction", r[0], "code", "insufficient_funds", "status", 422, "method", "POST",
			"route", "/v1/transfers", "actor", r[1], "Refusals", 1)
	}
	api, err := client.New(client.Config{URL: s.ledger.URL})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console.New(context.Background(), api, console.Address{URL: s.ledger.URL, Refusals: recent}))
	t.Cleanup(server.Close)
	with := &site{TB: t, ledger: s.ledger, url: server.URL + console.Path}
	page := with.get("refusals?zone=Asia/Tokyo", http.StatusOK)
	with.has(page, "Time (Asia/Tokyo)", "t-2", "There is not enough available for this.", "ann via local", "t-1")
	with.lacks(with.get("refusals?id=t-1", http.StatusOK), ">t-2<")
	with.lacks(with.get("refusals?by=ann", http.StatusOK), ">t-1<")
	with.has(with.get("refusals?code=forbidden", http.StatusOK), "No refused writes.")
	with.has(with.get("refusals.json?id=t-1", http.StatusOK), `"transaction":"t-1"`, `"more":false`)
	with.get("refusals.json?since=yesterday", http.StatusBadRequest)
	with.has(with.get("search?q=t-1", http.StatusOK), "it was refused", "There is not enough available for this.", "/console/refusals?id=t-1")
	with.has(with.get("search?q=t-9", http.StatusOK), "Nothing found for")
	s.has(s.get("refusals", http.StatusOK), "ledger refusals --log-group")
	s.get("refusals.json", http.StatusNotFound)
}
