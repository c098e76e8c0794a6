package audit

import (
	"fmt"
	"math/big"
	"strings"

	"ledger.example/internal/table"
)

// foldSums are the sums in a fold. Folds are read, added up, compared and shown according to these rows.
var foldSums = [...]struct {
	name     string // of the attribute
	isSigned bool   // it may be below zero
	ofHolds  bool   // it counts only postings of holds, and is absent when it is zero
	add      func(sum *big.Int, p posting)
}{
	credits: {table.AttrCredits, false, false, func(sum *big.Int, p posting) {
		if p.Quantity.Sign() > 0 {
			sum.Add(sum, p.Quantity)
		}
	}},
	debits: {table.AttrDebits, false, false, func(sum *big.Int, p posting) {
		if p.Quantity.Sign() < 0 {
			sum.Sub(sum, p.Quantity)
		}
	}},
	expenditure: {table.AttrExpenditure, true, false, func(sum *big.Int, p posting) { sum.Add(sum, p.Cost) }},
	holds: {table.AttrHolds, false, true, func(sum *big.Int, p posting) {
		if p.Phase != "" {
			sum.Add(sum, big.NewInt(1))
		}
	}},
	// Pending sums may be below zero: a segment may have the end of a hold without its placing.
	pendingDebits: {table.AttrPendingDebits, true, true, func(sum *big.Int, p posting) {
		if p.holdsDebit() {
			sum.Sub(sum, p.Pending)
		}
	}},
	pendingCredits: {table.AttrPendingCredits, true, true, func(sum *big.Int, p posting) {
		if !p.holdsDebit() {
			sum.Add(sum, p.Pending)
		}
	}},
	returned: {table.AttrReturned, false, true, func(sum *big.Int, p posting) {
		if p.holdsDebit() && p.endsHold() {
			sum.Add(sum, p.Pending).Add(sum, p.Quantity)
		}
	}},
}

// Indexes of foldSums.
const (
	credits = iota
	debits
	expenditure
	holds // number of postings of holds
	pendingDebits
	pendingCredits
	returned
)

// fold has the sums of successive postings.
type fold struct {
	Through string `is:"ksuid"` // the KSUID of the last posting; "" if there are none
	Count   int64  `is:"count"`
	sums    [len(foldSums)]*big.Int
}

func noFold() (f fold) {
	for i := range f.sums {
		f.sums[i] = new(big.Int)
	}
	return f
}

// String returns a fold as findings show it.
func (f fold) String() string {
	if f.Through == "" {
		return "no postings"
	}
	s := fmt.Sprintf("postings: %d through %s", f.Count, f.Through)
	for i, sum := range f.sums {
		if !foldSums[i].ofHolds || sum.Sign() != 0 {
			s += fmt.Sprintf(", %s %s", strings.ToLower(foldSums[i].name), sum)
		}
	}
	return s
}

func (f fold) equal(g fold) bool { return f.Through == g.Through && f.sameSums(g) }

func (f fold) sameSums(g fold) bool {
	for i := range f.sums {
		if f.sums[i].Cmp(g.sums[i]) != 0 {
			return false
		}
	}
	return f.Count == g.Count
}

// minus returns the sums of the postings that f counts and g does not count.
func (f fold) minus(g fold) fold {
	late := noFold()
	late.Through, late.Count = f.Through, f.Count-g.Count
	for i := range f.sums {
		late.sums[i].Sub(f.sums[i], g.sums[i])
	}
	return late
}

// quantity returns credits minus debits.
func (f fold) quantity() *big.Int { return new(big.Int).Sub(f.sums[credits], f.sums[debits]) }

// spent returns the sum of all debits, including those of all holds. It does not decrease when a hold ends.
func (f fold) spent() *big.Int {
	sum := new(big.Int).Add(f.sums[debits], f.sums[pendingDebits])
	return sum.Add(sum, f.sums[returned])
}

// isPossible reports whether some postings can have these sums. Each posting is a credit or a debit.
func (f fold) isPossible() bool {
	isZero := true
	for i, sum := range f.sums {
		if sum.Sign() < 0 && !foldSums[i].isSigned {
			return false
		}
		isZero = isZero && sum.Sign() == 0
	}
	isBoth := f.sums[credits].Sign() > 0 && f.sums[debits].Sign() > 0
	return f.Count > 1 || f.Count == 1 && !isZero && !isBoth
}

// fitsIn reports whether f can be the fold of some of g's postings.
func (f fold) fitsIn(g fold) bool {
	for i, sum := range f.sums {
		if !foldSums[i].isSigned && sum.Cmp(g.sums[i]) > 0 {
			return false
		}
	}
	return f.Count <= g.Count
}

// tally adds up postings in the order of their keys. add changes the sums in place: use copy to keep them.
type tally struct {
	fold
	first string // KSUID
	usage usage
}

func newTally() tally { return tally{fold: noFold()} }

func (f fold) copy() fold { return f.minus(noFold()) }

func (t tally) copy() tally { return tally{t.fold.copy(), t.first, t.usage.copy()} }

// add adds a posting, which must follow all postings before in the order of keys.
func (t *tally) add(p posting) {
	for i := range foldSums {
		foldSums[i].add(t.sums[i], p)
	}
	t.usage.add(p)
	t.Count++
	t.Through = p.ID
	if t.first == "" {
		t.first = p.ID
	}
}

// amountsOf reads the attributes of a posting that a fold needs. ok is false if it is unusable, which the scan reports.
func amountsOf(item attributes) (p posting, ok bool) {
	_, p.Asset, p.ID, ok = table.Posting.Parse(keyOf(item))
	r := newReader(table.Key{}, item)
	r.fill(&p.amounts)
	r.fill(&p.marks)
	r.fill(&p.counting)
	p.checkFigures(r)
	p.Kind, p.Transaction = textOf(item["Kind"]), textOf(item["Transaction"])
	return p, ok && !r.broken && textOf(item[table.AttrType]) == kindPosting
}

// state is the result of comparing a stored fold or entry with the events.
type state int

const (
	right     state = iota
	unsettled       // it lacks events that may still be projected
	behind          // it lacks settled events
	wrong           // the events cannot produce it
	beyond          // it counts more events than are stored
)

// judge compares a stored fold with the sums of the postings through its end. found are the sums of all postings, young
// those of the postings that need not be projected yet. The postings are read after the stored fold and are never
// deleted, so a right fold counts no posting that was not found:
//
//   - right: the fold is equal to found.
//   - beyond: it counts more postings than were found. Postings were deleted, or the fold was altered. A rebuild would
//     hide that postings were deleted.
//   - unsettled or behind: it can be the fold of some of the postings. It is unsettled if all missing postings can be
//     young, otherwise behind. A head counts the postings that its projector received, not always all postings through
//     its end. Postings may still be committed before the end of any fold.
//   - wrong: anything else, such as other sums, or an end without a posting.
func judge(stored, found, young fold) state {
	missing := found.minus(stored)
	switch {
	case stored.equal(found):
		return right
	case missing.Count < 0:
		return beyond
	case stored.Through != found.Through || !missing.isPossible():
		return wrong
	case missing.fitsIn(young):
		return unsettled
	}
	return behind
}

// codeOf returns the code of a finding about a fold in some state.
func codeOf(s state, isBehind, isWrong, countsMore Code) Code {
	return [...]Code{unsettled: isBehind, behind: isBehind, wrong: isWrong, beyond: countsMore}[s]
}

// looks returns how often a fold must be seen in a state.
func (s state) looks() int {
	if s >= wrong {
		return proved
	}
	return lasting
}
