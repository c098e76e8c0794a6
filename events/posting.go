package events

const postingRecorded = "PostingRecorded"

// PostingRecorded is one leg of a transaction as an item of its own, in its account's partition. A leg of a hold has
// two: one when the hold is placed and one when it ends.
type PostingRecorded struct {
	Leg
	Pending     Amount // signed: what the leg adds to the pending amounts; 0 without a phase
	Phase       Phase  // "" unless the transaction is a hold
	Transaction string // id of its header
	Kind        Kind   // that of its header
	Description string // that of its header
}

// Phase is the part of a hold's life that a posting belongs to. It is stored, as signs do not tell: what is placed for
// a credit looks like what ends for a debit.
type Phase string

// The phases.
const (
	PhasePlaced   Phase = "placed"   // Pending is the leg as planned; Quantity and Cost are 0
	PhaseCaptured Phase = "captured" // Pending takes back what was placed; Quantity and Cost are what was captured
	PhaseReleased Phase = "released" // likewise, and nothing was captured
	PhaseExpired  Phase = "expired"  // likewise
)

// Ends reports whether a posting of this phase ends a hold.
func (p Phase) Ends() bool { return p == PhaseCaptured || p == PhaseReleased || p == PhaseExpired }

// Figures are what a posting adds to the sums of its account and asset.
type Figures struct {
	Quantity, Cost Amount // posted
	Pending        Amount // see PostingRecorded
	Phase          Phase
	Hold           string // id of the hold that the posting belongs to; "" without a phase
}

// EventName implements Event.
func (e PostingRecorded) EventName() (string, int) {
	if e.Phase != "" || e.Kind == KindReversal {
		return postingRecorded, lifeVersion
	}
	return postingRecorded, plainVersion
}

// Figures returns what the posting adds to sums.
func (e PostingRecorded) Figures() Figures {
	f := Figures{Quantity: e.Quantity, Cost: e.Cost, Pending: e.Pending, Phase: e.Phase}
	if e.Phase != "" {
		f.Hold = e.Transaction
	}
	return f
}

func (e PostingRecorded) write(f FieldEncoder) { e.fields(&coder{out: f}) }

func (e *PostingRecorded) fields(c *coder) {
	text(c, "Account", &e.Account, requiredID)
	text(c, "Asset", &e.Asset, requiredID)
	c.amount("Cost", &e.Cost)
	text(c, "Description", &e.Description, description)
	text(c, "ID", &e.ID, ksuidText)
	text(c, "Kind", &e.Kind, kind)
	if e.Phase != "" || c.has("Phase") {
		c.amount("Pending", &e.Pending)
		text(c, "Phase", &e.Phase, phase)
	}
	c.amount("Quantity", &e.Quantity)
	text(c, "Transaction", &e.Transaction, requiredID)
	if c.out == nil && !e.Figures().valid() {
		c.fail("Pending", ruleSign)
	}
}

var phase = oneOf(PhasePlaced, PhaseCaptured, PhaseReleased, PhaseExpired)

// valid reports whether the figures fit their phase: what is placed is not posted yet, and of what is captured at most
// what was placed is posted, with its sign.
func (f Figures) valid() bool {
	switch f.Phase {
	case PhasePlaced, PhaseReleased, PhaseExpired:
		return f.Quantity.IsZero() && f.Cost.IsZero()
	case PhaseCaptured:
		opposite := f.Quantity.IsZero() || f.Quantity.Sign() == -f.Pending.Sign()
		return opposite && f.Quantity.Abs().Cmp(f.Pending.Abs()) <= 0
	}
	return f.Pending.IsZero()
}
