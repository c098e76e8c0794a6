package events

const transactionReversed = "TransactionReversed"

// TransactionReversed: all or a part of a transaction was taken back by another one. It is committed together with that
// one.
type TransactionReversed struct {
	Transaction string  // id of the reversed transaction
	Number      int64   // counts its reversals: 1, 2 … ReversalsMax
	By          string  // id of the reversing transaction, whose kind is KindReversal
	Taken       []Taken // for each posted leg, in order
}

// Taken has the amounts that a reversal takes back of one leg. They have the leg's signs, or are zero.
type Taken struct{ Quantity, Cost Amount }

// EventName implements Event.
func (TransactionReversed) EventName() string { return transactionReversed }

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

// takenOf codes the list of Taken.
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
