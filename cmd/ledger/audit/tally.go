package audit

import (
	"errors"
	"math/big"

	"ledger.example/ledger/table"
)

// errUnreadable ends a comparison for an item that nothing can be computed from: the scan tells of it.
var errUnreadable = errors.New("an item cannot be read")

// tally adds up postings in the order of their keys.
type tally struct {
	credits, debits, expenditure big.Int
	count                        int64
	through, first               string
}

func (t *tally) add(p leg) {
	if p.quantity.Sign() < 0 {
		t.debits.Sub(&t.debits, p.quantity)
	} else {
		t.credits.Add(&t.credits, p.quantity)
	}
	t.expenditure.Add(&t.expenditure, p.cost)
	t.count++
	t.through = p.ksuid
	if t.first == "" {
		t.first = p.ksuid
	}
}

// fold is what was added up so far.
func (t *tally) fold() fold {
	return fold{
		through: t.through, count: t.count,
		credits: new(big.Int).Set(&t.credits), debits: new(big.Int).Set(&t.debits), expenditure: new(big.Int).Set(&t.expenditure),
	}
}

// tallyFrom goes on from a fold whose first posting is known.
func tallyFrom(f fold, first string) *tally {
	t := &tally{count: f.count, through: f.through, first: first}
	t.credits.Set(f.credits)
	t.debits.Set(f.debits)
	t.expenditure.Set(f.expenditure)
	return t
}

// figuresOf reads what a fold reads of a posting.
func figuresOf(item attributes) (leg, error) {
	_, asset, ksuid, ok := table.ParsePosting(keyOf(item))
	r := read(table.Key{}, item)
	p := leg{ksuid: ksuid, asset: asset, quantity: r.amount(fieldQuantity, postedDigits), cost: r.amount(fieldCost, postedDigits)}
	if !ok || r.broken || textOf(item[table.AttrType]) != kindPosting {
		return leg{}, errUnreadable
	}
	return p, nil
}

// state is how a stored fold stands to its postings.
type state int

const (
	right  state = iota
	moving       // it lacks postings, perhaps, that are so young that their turn may still come
	behind       // it lacks settled postings
	wrong        // it holds what no postings add up to
)

// judge compares a stored fold with that of the postings in its range, of which some are young.
func judge(stored, found, young fold) state {
	if stored.equal(found) {
		return right
	}
	late := found.minus(stored)
	if stored.through != found.through || !late.isOfPostings() {
		return wrong
	}
	if late.count <= young.count && late.credits.Cmp(young.credits) <= 0 && late.debits.Cmp(young.debits) <= 0 {
		return moving
	}
	return behind
}

// isOfPostings tells whether f can be the fold of some postings at all.
func (f fold) isOfPostings() bool {
	if f.count < 1 || f.credits.Sign() < 0 || f.debits.Sign() < 0 {
		return false
	}
	if f.count > 1 {
		return true
	}
	none := f.credits.Sign() == 0 && f.debits.Sign() == 0 && f.expenditure.Sign() == 0
	both := f.credits.Sign() > 0 && f.debits.Sign() > 0
	return !none && !both
}
