package projections

import "context"

// AccountsAtOnce is how many accounts of a batch are refolded in parallel.
const AccountsAtOnce = accountsAtOnce

// DecodeListedEntry decodes an entry in any list of transactions.
var DecodeListedEntry = decodeListedEntry

// Pause replaces the pauses between attempts.
func (p *Projector) Pause(pause func(ctx context.Context, failed int) error) { p.pause = pause }

// Pause replaces the pauses between attempts.
func (r *Reader) Pause(pause func(ctx context.Context, failed int) error) { r.pause = pause }

// Cached returns how many balances are cached, and their weight.
func (p *Projector) Cached() (balances, weight int) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	return len(p.cache.entries), p.cache.weight
}

// Pause replaces the pauses between attempts.
func (l *Lister) Pause(pause func(ctx context.Context, failed int) error) { l.pause = pause }

// BudgetOf returns a budget of halves of a read unit.
func BudgetOf(halves int) *Budget { return &Budget{halves} }
