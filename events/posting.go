package events

import "time"

const postingRecorded = "PostingRecorded"

// PostingRecorded is one leg of a transaction as a separate item, in its account's partition. A leg of a hold has two
// of them: one when the hold is placed and one when it ends.
type PostingRecorded struct {
	Leg
	Pending     Amount `stored:"amount,with Phase"`    // signed change of the pending amounts; 0 without a phase
	Phase       Phase  `stored:"phase,optional"`       // "" unless the transaction is a hold
	Transaction string `stored:"id"`                   // id of its header
	Kind        Kind   `stored:"kind"`                 // of its header
	Description string `stored:"description,optional"` // of its header
	Backdated   bool   `stored:"flag"`                 // of its header: the KSUID is older than the posting

	// RecordedAt is that of the header: when the posting was recorded, if it is backdated. Zero otherwise, and in a
	// backdated posting of the first ledgers, whose age is then not known.
	RecordedAt time.Time `stored:"time,optional"`
}

// Phase is the step of a hold that a posting records. It is stored because it does not follow from the signs: the
// placing of a credit has the same signs as the end of a debit.
type Phase string

// The phases.
const (
	PhasePlaced   Phase = "placed"   // Pending is the leg's quantity; Quantity and Cost are 0
	PhaseCaptured Phase = "captured" // Pending is the placed amount negated; Quantity and Cost are the captured amounts
	PhaseReleased Phase = "released" // Pending is the placed amount negated; Quantity and Cost are 0
	PhaseExpired  Phase = "expired"  // as PhaseReleased
)

// Ends reports whether a posting of this phase ends a hold.
func (p Phase) Ends() bool { return p == PhaseCaptured || p == PhaseReleased || p == PhaseExpired }

// Figures are the amounts that a posting adds to the sums of its account and asset.
type Figures struct {
	Quantity, Cost Amount // posted
	Pending        Amount // see PostingRecorded
	Phase          Phase
	Hold           string // id of the hold that the posting belongs to; "" without a phase
	Backdated      bool   // see PostingRecorded; false with a phase
	RecordedAt     time.Time
}

// EventName implements Event.
func (PostingRecorded) EventName() string { return postingRecorded }

// Figures returns the amounts that the posting adds to sums.
func (e PostingRecorded) Figures() Figures {
	f := Figures{
		Quantity: e.Quantity, Cost: e.Cost, Pending: e.Pending, Phase: e.Phase,
		Backdated: e.Backdated, RecordedAt: e.RecordedAt,
	}
	if e.Phase != "" {
		f.Hold = e.Transaction
	}
	return f
}

func (e PostingRecorded) check() (field, rule string) {
	if !e.Figures().valid() {
		return "Pending", ruleSign
	}
	if !isRecorded(e.ID, e.Figures()) {
		return "RecordedAt", ruleRecorded
	}
	isDebit := e.Quantity.Sign() < 0 || e.Pending.Sign() < 0
	if e.Counted != "" && (!isDebit || e.Backdated || e.Phase.Ends() || e.Kind == KindReversal) {
		return "Counted", ruleCounted
	}
	return "", ""
}

// valid reports whether the amounts fit the phase: a placed leg posts nothing, and a captured one posts at most the
// placed amount, with its sign. A hold is not backdated.
func (f Figures) valid() bool {
	if f.Backdated && f.Phase != "" {
		return false
	}
	switch f.Phase {
	case PhasePlaced, PhaseReleased, PhaseExpired:
		return f.Quantity.IsZero() && f.Cost.IsZero()
	case PhaseCaptured:
		opposite := f.Quantity.IsZero() || f.Quantity.Sign() == -f.Pending.Sign()
		return opposite && f.Quantity.Abs().Cmp(f.Pending.Abs()) <= 0
	}
	return f.Pending.IsZero()
}

// ruleRecorded is the rule of RecordedAt.
const ruleRecorded = "is not after the time of the legs, or that of a hold"

// isRecorded reports whether the recording time of a posting fits its KSUID.
func isRecorded(id KSUID, f Figures) bool {
	return f.RecordedAt.IsZero() || f.Backdated && f.RecordedAt.After(id.Time())
}

// Pair is an account and an asset. Each pair has its own balance, segments and spending guard.
type Pair struct{ Account, Asset string }

// Holding has the sums of an account's postings in one asset.
type Holding struct {
	Asset                         string
	Quantity                      Amount // posted
	PendingDebits, PendingCredits Amount // of open holds, not negative
	Spent                         Amount // ever debited or held; equals the guard's total when no command is in flight
	Count                         int64  // number of postings in these sums
}

// IsEmpty reports whether nothing is posted or pending.
func (h Holding) IsEmpty() bool {
	return h.Quantity.IsZero() && h.PendingDebits.IsZero() && h.PendingCredits.IsZero()
}
