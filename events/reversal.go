package events

// TransactionReversed: all or a part of a transaction was taken back by another one. It is committed together with that
// one.
type TransactionReversed struct {
	Transaction string  `stored:"id"`       // id of the reversed transaction
	Number      int64   `stored:"reversal"` // counts its reversals: 1, 2 … ReversalsMax
	By          string  `stored:"id"`       // id of the reversing transaction, whose kind is KindReversal
	Taken       []Taken `stored:"legs"`     // for each posted leg, in order
}

// Taken has the amounts that a reversal takes back of one leg. They have the leg's signs, or are zero.
type Taken struct {
	Quantity Amount `stored:"amount"`
	Cost     Amount `stored:"amount"`
}

// EventName implements Event.
func (TransactionReversed) EventName() string { return "TransactionReversed" }

func (TransactionReversed) check() (field, rule string) { return "", "" }
