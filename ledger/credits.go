package ledger

import (
	"strings"

	"ledger.example/events"
)

// knownCredits is, for each pair, an amount that the account is known to have been credited of the asset in committed
// transactions. Credits only grow, so that any figure once true stays a safe lower bound, and only rises here.
//
// It learns from what is read, never from what this process posts: a read made meanwhile may include that already, and
// adding it again would be too high.
type knownCredits struct {
	memory *memory[Pair, events.Amount]
}

func newKnownCredits() *knownCredits {
	return &knownCredits{newMemory[Pair](creditsPairs, func(events.Amount) int { return 1 })}
}

// of returns what is known of the pair, and whether anything was ever read.
func (c *knownCredits) of(p Pair) (events.Amount, bool) { return c.memory.get(p) }

// raise makes what is known at least the given amount, and returns what is known then.
func (c *knownCredits) raise(p Pair, to events.Amount) events.Amount {
	p = Pair{strings.Clone(p.Account), strings.Clone(p.Asset)} // of a request, they may be parts of its whole body
	return c.memory.change(p, func(known events.Amount, ok bool) events.Amount {
		if ok && known.Cmp(to) > 0 {
			return known
		}
		return to
	})
}
