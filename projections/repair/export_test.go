package repair

import "context"

// Pause replaces the pause between attempts.
func (b *Rebuilder) Pause(pause func(ctx context.Context, failed int) error) { b.pause = pause }

var IsLate = isLate

const LateFor = lateFor
