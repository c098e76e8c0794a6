package audit

import (
	"fmt"
	"math/big"
	"strings"

	"ledger.example/internal/table"
)

// figures are the sums that a fold has beside the count of its postings. A new one is a row here: folds are read,
// added up, compared and shown by these rows.
var figures = [...]struct {
	name     string // of the attribute
	isSigned bool   // it may be below zero
	ofHolds  bool   // it counts postings of holds alone, and is absent when it is zero
	add      func(sum *big.Int, p leg)
}{
	credits: {table.AttrCredits, false, false, func(sum *big.Int, p leg) {
		if p.quantity.Sign() > 0 {
			sum.Add(sum, p.quantity)
		}
	}},
	debits: {table.AttrDebits, false, false, func(sum *big.Int, p leg) {
		if p.quantity.Sign() < 0 {
			sum.Sub(sum, p.quantity)
		}
	}},
	expenditure: {table.AttrExpenditure, true, false, func(sum *big.Int, p leg) { sum.Add(sum, p.cost) }},
	holds: {table.AttrHolds, false, true, func(sum *big.Int, p leg) {
		if p.phase != "" {
			sum.Add(sum, big.NewInt(1))
		}
	}},
	// What is pending of a stretch that has the end of a hold without its placing is below zero.
	pendingDebits: {table.AttrPendingDebits, true, true, func(sum *big.Int, p leg) {
		if p.holdsDebit() {
			sum.Sub(sum, p.pending)
		}
	}},
	pendingCredits: {table.AttrPendingCredits, true, true, func(sum *big.Int, p leg) {
		if !p.holdsDebit() {
			sum.Add(sum, p.pending)
		}
	}},
	returned: {table.AttrReturned, false, true, func(sum *big.Int, p leg) {
		if p.holdsDebit() && p.endsHeld() {
			sum.Add(sum, p.pending).Add(sum, p.quantity)
		}
	}},
}

// Indexes of figures.
const (
	credits = iota
	debits
	expenditure
	holds // how many of the postings are of holds
	pendingDebits
	pendingCredits
	returned
)

// fold holds the sums of postings, through the last one.
type fold struct {
	through string // the last posting's KSUID, "" if there are none
	count   int64
	sums    [len(figures)]*big.Int
}

func noFold() (f fold) {
	for i := range f.sums {
		f.sums[i] = new(big.Int)
	}
	return f
}

// String returns a fold as findings show it.
func (f fold) String() string {
	if f.through == "" {
		return "no postings"
	}
	s := fmt.Sprintf("%d postings through %s", f.count, f.through)
	for i, sum := range f.sums {
		if !figures[i].ofHolds || sum.Sign() != 0 {
			s += fmt.Sprintf(", %s %s", strings.ToLower(figures[i].name), sum)
		}
	}
	return s
}

func (f fold) equal(g fold) bool { return f.through == g.through && f.sameFigures(g) }

func (f fold) sameFigures(g fold) bool {
	for i := range f.sums {
		if f.sums[i].Cmp(g.sums[i]) != 0 {
			return false
		}
	}
	return f.count == g.count
}

// minus is what f counts beyond g, through f's end.
func (f fold) minus(g fold) fold {
	late := noFold()
	late.through, late.count = f.through, f.count-g.count
	for i := range f.sums {
		late.sums[i].Sub(f.sums[i], g.sums[i])
	}
	return late
}

// quantity returns what the postings add up to: credits less debits, in the smallest unit of the asset.
func (f fold) quantity() *big.Int { return new(big.Int).Sub(f.sums[credits], f.sums[debits]) }

// spent returns what left the account, or is held: it is never lowered when a hold ends.
func (f fold) spent() *big.Int {
	sum := new(big.Int).Add(f.sums[debits], f.sums[pendingDebits])
	return sum.Add(sum, f.sums[returned])
}

// withHolds reports whether f counts any posting of a hold.
func (f fold) withHolds() bool { return f.sums[holds].Sign() != 0 }

// isOfPostings reports whether f can be the fold of any postings, of which each is a credit or a debit.
func (f fold) isOfPostings() bool {
	isZero := true
	for i, sum := range f.sums {
		if sum.Sign() < 0 && !figures[i].isSigned {
			return false
		}
		isZero = isZero && sum.Sign() == 0
	}
	isBoth := f.sums[credits].Sign() > 0 && f.sums[debits].Sign() > 0
	return f.count > 1 || f.count == 1 && !isZero && !isBoth
}

// mayBeWithin reports whether f can be the fold of some of g's postings.
func (f fold) mayBeWithin(g fold) bool {
	for i, sum := range f.sums {
		if !figures[i].isSigned && sum.Cmp(g.sums[i]) > 0 {
			return false
		}
	}
	return f.count <= g.count
}

// tally adds up postings in the order of their keys.
type tally struct {
	fold         // changes with every posting: use copy to keep it
	first string // KSUID
}

func newTally() tally { return tally{fold: noFold()} }

func (t tally) copy() tally { return tally{t.fold.minus(noFold()), t.first} }

// add adds a posting, which must be after all those before.
func (t *tally) add(p leg) {
	for i := range figures {
		figures[i].add(t.sums[i], p)
	}
	t.count++
	t.through = p.ksuid
	if t.first == "" {
		t.first = p.ksuid
	}
}

// figuresOf reads what a fold needs of a posting. ok is false if it cannot be read; the scan reports that.
func figuresOf(item attributes) (p leg, ok bool) {
	_, asset, ksuid, ok := table.ParsePosting(keyOf(item))
	r := newReader(table.Key{}, item)
	p = leg{ksuid: ksuid, asset: asset, kind: textOf(item[fieldKind])}
	r.amounts(&p)
	r.pending(&p)
	return p, ok && !r.broken && textOf(item[table.AttrType]) == kindPosting
}

// state is how a stored fold relates to its postings.
type state int

const (
	right  state = iota
	moving       // it may lack recent postings, which may still be counted
	behind       // it lacks settled postings
	wrong        // no postings add up to it
	beyond       // it counts more postings than there are
)

// judge compares a stored fold with what was found: the fold of the postings through the stored one's end, which were
// read after it. Of those, young are the ones that are not settled. Postings only ever arrive, so what was counted
// must be found:
//
//   - Equal: right.
//   - It counts more postings than were found: beyond. Postings were removed, or the fold was altered. A new fold
//     would hide the former.
//   - It can be the fold of a subset, as what is missing can be the sums of that many postings: moving if all that is
//     missing can be young, else behind. A head counts the postings that its projector received, not always everything
//     up to its end, and postings may still arrive below any end.
//   - Anything else is wrong: other sums, or an end where there is no posting.
//
// Postings above the end of a head are missing in the same sense.
func judge(stored, found, young fold) state {
	late := found.minus(stored)
	switch {
	case stored.equal(found):
		return right
	case late.count < 0:
		return beyond
	case stored.through != found.through || !late.isOfPostings():
		return wrong
	case late.mayBeWithin(young):
		return moving
	}
	return behind
}

// Codes of the defects of a stored balance and of a stored segment, by its state.
var (
	balanceCodes = [...]Code{moving: BalanceBehind, behind: BalanceBehind, wrong: BalanceWrong,
		beyond: BalanceCountsMore}
	segmentCodes = [...]Code{moving: SegmentBehind, behind: SegmentBehind, wrong: SegmentWrong,
		beyond: SegmentCountsMore}
)
