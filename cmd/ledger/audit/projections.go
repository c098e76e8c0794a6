package audit

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"ledger.example/ledger/table"
)

// fold is a stored fold: the sums of the postings through one.
type fold struct {
	through     string
	credits     *big.Int
	debits      *big.Int
	expenditure *big.Int
	count       int64
}

func noFold() fold {
	return fold{credits: new(big.Int), debits: new(big.Int), expenditure: new(big.Int)}
}

func (f fold) String() string {
	if f.through == "" {
		return "no postings"
	}
	return fmt.Sprintf("%d postings through %s, credits %s, debits %s, expenditure %s", f.count, f.through, f.credits, f.debits, f.expenditure)
}

func (f fold) equal(g fold) bool { return f.through == g.through && f.sameFigures(g) }

func (f fold) sameFigures(g fold) bool {
	return f.count == g.count &&
		f.credits.Cmp(g.credits) == 0 && f.debits.Cmp(g.debits) == 0 && f.expenditure.Cmp(g.expenditure) == 0
}

// minus is what f counts beyond g, through where f goes.
func (f fold) minus(g fold) fold {
	return fold{
		through: f.through, count: f.count - g.count,
		credits: new(big.Int).Sub(f.credits, g.credits), debits: new(big.Int).Sub(f.debits, g.debits),
		expenditure: new(big.Int).Sub(f.expenditure, g.expenditure),
	}
}

func (f fold) quantity() *big.Int { return new(big.Int).Sub(f.credits, f.debits) }

type balance struct {
	account, asset   string
	version          int64 // 0: there is none
	base, seal, head fold
	first            string
	unfinished       bool
}

type segment struct {
	account, asset, after string
	fold
}

type summary struct {
	version, assets, holdings int64
	first                     string
}

func (s summary) String() string {
	return fmt.Sprintf("assets %d, holdings %d, first %q", s.assets, s.holdings, s.first)
}

type membership struct {
	account, user string
	number        int64
	role          string
}

type guard struct {
	account, asset string
	spent          *big.Int
}

func (r *reader) fold() fold {
	return fold{
		through:     r.ksuid(table.AttrThrough),
		credits:     r.natural(table.AttrCredits),
		debits:      r.natural(table.AttrDebits),
		expenditure: r.amount(table.AttrExpenditure, foldedDigits),
		count:       r.integer(table.AttrCount, 0, math.MaxInt64),
	}
}

// optionalFold takes a fold in a map of its own, that is absent when it is of no postings.
func (r *reader) optionalFold(name string) fold {
	if !r.has(name) {
		return noFold()
	}
	m, ok := r.nested(name)
	if !ok {
		return noFold()
	}
	f := m.fold()
	m.finish()
	return f
}

func decodeBalance(r *reader, account, asset string) balance {
	r.keys(table.KindBalance, "", table.HoldersPK2(asset))
	r.is(table.AttrAccount, account)
	r.is(table.AttrAsset, asset)
	b := balance{
		account: account, asset: asset,
		version:    r.integer(table.AttrVersion, 1, math.MaxInt64),
		base:       r.optionalFold(table.AttrBase),
		seal:       r.optionalFold(table.AttrSeal),
		head:       r.optionalFold(table.AttrHead),
		first:      r.optionalKSUID(table.AttrFirst),
		unfinished: r.optionalFlag(table.AttrUnfinished),
	}
	r.finish()
	return b
}

func decodeSegment(r *reader, account, asset, through string) segment {
	r.keys(table.KindSegment, "", "")
	s := segment{account: account, asset: asset, after: r.optionalKSUID(table.AttrAfter), fold: r.fold()}
	if s.through != through && !r.broken {
		r.fault(WrongKey, table.AttrThrough, strconv.Quote(through))
	}
	r.finish()
	return s
}

func decodeSummary(r *reader) summary {
	r.keys(table.KindSummary, "", "")
	s := summary{
		version:  r.integer(table.AttrVersion, 1, math.MaxInt64),
		assets:   r.integer(table.AttrAssets, 0, math.MaxInt64),
		holdings: r.integer(table.AttrHoldings, 0, math.MaxInt64),
		first:    r.optionalKSUID(table.AttrFirst),
	}
	r.finish()
	return s
}

func decodeMembership(r *reader, account, user string) membership {
	m := membership{account: account, user: user}
	pk2 := ""
	if r.has(table.AttrRole) {
		m.role = r.oneOf(table.AttrRole, roles...)
		pk2 = table.UserPK2(user) // one that is revoked is in no index
	}
	r.keys(table.KindMembership, "", pk2)
	r.is(table.AttrAccount, account)
	r.is(table.AttrUser, user)
	m.number = r.integer(table.AttrNumber, 0, grantsMax) // 0 where a rebuild found one that no grant made: nothing deletes it
	r.finish()
	return m
}

func decodeGuard(r *reader, account, asset string) guard {
	r.keys(table.KindSpend, "", "")
	g := guard{account: account, asset: asset, spent: r.natural(table.AttrSpent)}
	r.finish()
	return g
}
