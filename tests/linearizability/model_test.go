package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// pair is what a history is about: one account's holding of one asset.
type pair struct{ account, asset string }

// figures are what a strong read shows of a pair, and the state of the model; also what one transaction adds to it.
type figures struct {
	quantity, expenditure, credits, debits, postings int64
}

func (f figures) plus(g figures) figures {
	return figures{f.quantity + g.quantity, f.expenditure + g.expenditure, f.credits + g.credits, f.debits + g.debits, f.postings + g.postings}
}

// act is what an operation does to its pair.
type act int

const (
	post    act = iota // adds what a transaction moves; the account stays within its limit
	refuse             // adds nothing: at one instant of the request, the pair had not enough
	observe            // shows the figures
)

// operation is the input of an operation of the model. Its outcome is in it, as what came of it was known before it was
// checked.
type operation struct {
	act     act
	what    string  // for people
	figures figures // what post adds, or observe showed
	// floor is the least quantity that the account's limit allows; it has one unless it is unlimited.
	floor     int64
	unlimited bool
	// available and requested are what a refusal said.
	available, requested int64
}

// model is one pair, sequentially.
var model = porcupine.Model{
	Init: func() any { return figures{} },
	Step: func(state, input, _ any) (bool, any) {
		have, o := state.(figures), input.(operation)
		switch o.act {
		case post:
			have = have.plus(o.figures)
			return o.unlimited || have.quantity >= o.floor, have
		case refuse:
			// What is said to be available may have come in since: it is read after the refusal.
			return have.quantity-o.floor <= o.available && o.available < o.requested, have
		}
		return have == o.figures, have
	},
	Hash: func(state any) uint64 {
		have := state.(figures)
		return uint64(have.quantity*31+have.credits)*31 + uint64(have.postings)
	},
	DescribeOperation: func(input, _ any) string {
		o := input.(operation)
		switch o.act {
		case post:
			return fmt.Sprintf("%s %+d", o.what, o.figures.quantity)
		case refuse:
			return fmt.Sprintf("%s refused: %d of %d", o.what, o.available, o.requested)
		}
		return fmt.Sprintf("%s shows %d after %d", o.what, o.figures.quantity, o.figures.postings)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}
