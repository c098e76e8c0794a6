package events

const transactionReversed = "TransactionReversed"

// TransactionReversed: a part of a transaction was taken back by another one. It is committed together with that one.
type TransactionReversed struct {
	Transaction string  // id of the transaction that was reversed
	Number      int64   // of its reversals: 1, 2 … ReversalsMax
	By          string  // id of the reversing transaction, whose kind is KindReversal
	Taken       []Taken // of each leg that was posted, in their order
}

// Taken is what a reversal took back of one leg: amounts with the signs of the leg, or zero.
type Taken struct{ Quantity, Cost Amount }

// EventName implements Event.
func (TransactionReversed) EventName() (string, int) { return transactionReversed, lifeVersion }

func (e TransactionReversed) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *TransactionReversed) fields(c *coder) {
	text(c, "By", &e.By, requiredID)
	integer(c, "Number", &e.Number, 1, ReversalsMax)
	c.takenOf("Taken", &e.Taken)
	text(c, "Transaction", &e.Transaction, requiredID)
}

// takenFields is how many fields a Taken has.
const takenFields = 2

func (t *Taken) fields(c *coder) {
	c.amount("Cost", &t.Cost)
	c.amount("Quantity", &t.Quantity)
}

// takenOf codes what was taken back of each leg.
func (c *coder) takenOf(field string, v *[]Taken) {
	if c.out != nil {
		c.out.BeginList(field, len(*v))
		for i := range *v {
			c.out.BeginMap("", takenFields)
			(*v)[i].fields(c)
			c.out.End()
		}
		c.out.End()
		return
	}
	elements := c.takeList(field)
	all := make([]Taken, len(elements))
	for i, stored := range elements {
		one := coder{stored: stored}
		all[i].fields(&one)
		if !c.takeElement(field, i, &one) {
			return
		}
	}
	*v = all
}
