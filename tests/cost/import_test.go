package cost

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/cmd/ledger-bench/meter"
	"ledger.example/internal/desk/importer"
	"ledger.example/tests/harness/system"
)

// counted counts the requests of an import.
type counted struct {
	*client.Client
	requests atomic.Int64
}

func (c *counted) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	c.requests.Add(1)
	return c.Client.Send(ctx, cmd)
}

func (c *counted) Batch(ctx context.Context, b client.Batch) ([]client.Outcome, error) {
	c.requests.Add(1)
	return c.Client.Batch(ctx, b)
}

// An import sends the payments of one account with a limit together, and the ledger writes them together: a line takes
// at most a tenth of a request, and much less of a guard than a payment that is sent alone.
func TestCostOfImportsOfOneAccount(t *testing.T) {
	t.Parallel()
	const lines = 1_000
	m := new(meter.Meter)
	s := system.New(t, system.Client(m.Count))
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/payer", `{"name":"Payer"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"funds","from":"bank","to":"payer","asset":"USD","quantity":"1000"}`)
	var file strings.Builder
	for n := range lines {
		fmt.Fprintf(&file, `{"transfer":{"id":"pay-%d","from":"payer","to":"market","asset":"USD","quantity":"1"}}`+"\n", n)
	}
	api, err := client.New(client.Config{URL: s.URL, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Client: api}
	m.Take()
	i := importer.New(importer.Config{Ledger: c, Batches: c, Clients: 8, OnFailure: func(f importer.Failure) { t.Error(f) }})
	if err := i.Run(t.Context(), strings.NewReader(file.String())); err != nil || i.Counts().New != lines {
		t.Fatal(err, i.Counts())
	}
	spent := m.Take()
	t.Logf("a line takes %.3f requests, %.3f requests to the table and %.2f write units",
		float64(c.requests.Load())/lines, float64(spent.Total())/lines, float64(spent.WriteUnits)/lines)
	if c.requests.Load() > lines/10 || spent.WriteUnits > 9*lines {
		t.Errorf("%d requests, %+v", c.requests.Load(), spent)
	}
}
