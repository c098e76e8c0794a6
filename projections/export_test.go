package projections

import (
	"context"
	"time"
)

// Shrink makes the limits of p so small that short histories meet them.
func (p *Projector) Shrink(window time.Duration, stretch int64, segments, leave int) {
	p.window, p.stretch, p.segments, p.leave = window, stretch, segments, leave
}

// OneAtATime makes p do one account after another.
func (p *Projector) OneAtATime() { p.accounts = 1 }

// OneAtATime makes r read one balance after another.
func (r *Reader) OneAtATime() { r.balances = 1 }

// Pause replaces what p does before it tries again.
func (p *Projector) Pause(pause func(ctx context.Context, try int) error) { p.pause = pause }

// Pause replaces what r does before it tries again.
func (r *Reader) Pause(pause func(ctx context.Context, try int) error) { r.pause = pause }

// Remembered tells how many balances p remembers, and their weight.
func (p *Projector) Remembered() (balances, weight int) {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	return len(p.memory.balances), p.memory.weight
}
