package simulation

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
)

// tableOfTemplate reads template.yaml once for all histories.
var tableOfTemplate = sync.OnceValues(func() (*dynamodb.CreateTableInput, error) { return local.TableFromTemplate(template.YAML) })

// openStore makes the store, with what may go wrong in it, and the table of template.yaml.
func (h *history) openStore() error {
	h.store = memory.New(memory.Options{
		Now: time.Now,
		Between: func(ctx context.Context) {
			h.observe()
			if h.meets(ItemByItem, !h.calm) {
				time.Sleep(h.draw(ctx, "item by item").between(0, h.visible(ctx)))
			}
		},
		Order: func(n int, swap func(i, j int)) {
			if h.plan.has(ItemByItem) {
				h.draw(context.Background(), "order of items").Shuffle(n, swap)
			}
		},
		Lag: func(ctx context.Context) time.Duration {
			d := h.draw(ctx, "lag")
			if !h.meets(StaleReads, h.knobs.lag > 0 && !d.chance(.4)) {
				return 0
			}
			return d.between(0, h.knobs.lag)
		},
		Page: func(ctx context.Context, n int) int {
			if !h.meets(CutPages, n > h.knobs.page) {
				return n
			}
			d := h.draw(ctx, "pages")
			if d.chance(.03) {
				return 0
			}
			return min(n, h.knobs.page)
		},
		// As low as the largest write that this history may make.
		Actions:   max(10, h.knobs.segments+2),
		Violation: func(err error) { h.broken("the store was asked for what must not be: %w", err) },
	})
	in, err := tableOfTemplate()
	if err != nil {
		return err
	}
	if _, err := local.CreateTable(context.Background(), h.store.DynamoDB(), in, tableName); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	return nil
}

// visible is how long a transaction takes between two items, at most.
func (h *history) visible(ctx context.Context) time.Duration {
	if name, _ := ctx.Value(actor{}).(string); h.knobs.behind && strings.HasPrefix(name, "consumer") {
		return 2 * time.Second
	}
	return h.knobs.visible
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

// born starts the next process of a name.
func (h *history) born(name string, n int) *process {
	name = fmt.Sprintf("%s %d", name, n)
	h.mu.Lock()
	h.births[name]++
	birth := h.births[name]
	h.mu.Unlock()
	p := h.start(name, birth)
	h.mu.Lock()
	h.all = append(h.all, p)
	h.mu.Unlock()
	return p
}

func (h *history) count(n *int) {
	h.mu.Lock()
	*n++
	h.mu.Unlock()
}
