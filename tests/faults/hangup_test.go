package faults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/inject"
)

// When a caller hangs up, the ledger sends no further attempt, because the caller may already retry and be refused. But
// it still finds out the outcome, and logs it.
func TestCallersWhoHangUp(t *testing.T) {
	for logged, c := range map[string]struct {
		fault  inject.Fault
		stored int
	}{
		`"code":"unavailable"`: {inject.Refuses(400, "ThrottlingException"), 0},
		`"status":201`:         {inject.Applied(inject.Lost), 1},
	} {
		inBubble(t, func(t *testing.T) {
			p := newPayment(t)
			ctx, hangUp := context.WithCancel(t.Context())
			p.faults.Next(opPost, func(ctx context.Context, send inject.Sender) inject.Exchange {
				answer := c.fault(ctx, send)
				hangUp()
				return answer
			})
			p.Requests.Take()
			request, err := http.NewRequestWithContext(ctx, "POST", p.URL+"/v1/transfers", strings.NewReader(body(id)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Request-Id", "gone")
			if got, err := p.Do(request); err == nil {
				t.Fatalf("the caller was answered: %d %s", got.Status, got.Body)
			}
			time.Sleep(time.Minute) // until the command has ended
			isLogged := func(line string) bool {
				return strings.Contains(line, `"request_id":"gone"`) && strings.Contains(line, logged)
			}
			if log := p.Log.String(); !slices.ContainsFunc(strings.Split(log, "\n"), isLogged) {
				t.Errorf("no %s in the log: %s", logged, log)
			}
			posts := 0
			for _, r := range p.Requests.Take() {
				if r.Operation == opPost {
					posts++
				}
			}
			if stored := p.stored(); posts != 1 || stored != c.stored {
				t.Errorf("%s: %d attempts, and the payment is stored %d times", logged, posts, stored)
			}
		})
	}
}
