package audit

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"ledger.example/internal/store"
)

// fold reads the sums of at least one posting.
func (r *reader) fold() (f fold) {
	f.through, f.count = r.ksuid(store.AttrThrough), r.integer(store.AttrCount, 0, math.MaxInt64)
	for i, figure := range foldSums {
		if figure.ofHolds && !r.has(figure.name) {
			f.sums[i] = new(big.Int)
			continue
		}
		f.sums[i] = r.sum(figure.name, figure.isSigned)
		if figure.ofHolds && formatValue(r.item[figure.name]) == "0" {
			r.fault(WrongValue, figure.name, "a number that is not 0, or no such attribute")
		}
	}
	return f
}

// foldIn reads a fold in a map of the item. It is absent if it counts no postings.
func (r *reader) foldIn(name string) fold {
	m, ok := r.optional().nested(name)
	if !ok {
		return noFold()
	}
	defer m.finish()
	return m.fold()
}

// projectionVersion reads the version of a projection, which increases with every write.
func (r *reader) projectionVersion() int64 { return r.integer(store.AttrVersion, 1, store.VersionMax) }

// first reads the KSUID of the first posting of a balance or of a summary.
func (r *reader) first() string { return r.optional().ksuid(store.AttrFirst) }

// balance is the projection of one asset of one account. The seal counts all postings of the base, the head all
// postings of the seal.
type balance struct {
	account, asset   string
	version          int64 // 0: no balance is stored
	base, seal, head fold
	first            string
	unfinished       bool
}

// balance reads the attributes of a balance.
func (r *reader) balance(account, asset string) balance {
	r.keys("", store.Balance.PK2(asset))
	r.same(store.AttrAccount, account)
	r.same(store.AttrAsset, asset)
	return balance{
		account: account, asset: asset, version: r.projectionVersion(), first: r.first(),
		base: r.foldIn(store.AttrBase), seal: r.foldIn(store.AttrSeal), head: r.foldIn(store.AttrHead),
		unfinished: r.flag(store.AttrUnfinished),
	}
}

// segment is a fold of the postings after one KSUID and through another. It is below the base of its balance.
type segment struct {
	account, asset, after string
	fold
}

// segment reads the attributes of a segment. The key of its item ends with the KSUID of its last posting.
func (r *reader) segment(account, asset, through string) segment {
	r.keys("", "")
	s := segment{account: account, asset: asset, after: r.optional().ksuid(store.AttrAfter), fold: r.fold()}
	if s.through != through && !r.broken {
		r.fault(WrongKey, store.AttrThrough, strconv.Quote(through))
	}
	return s
}

// summary counts the balances of an account (assets), and its balances with a quantity (holdings).
type summary struct {
	version, assets, holdings int64
	first                     string
}

func (s summary) String() string {
	return fmt.Sprintf("assets %d, holdings %d, first %q", s.assets, s.holdings, s.first)
}

// summary reads the attributes of a summary.
func (r *reader) summary(string) summary {
	r.keys("", "")
	return summary{
		version: r.projectionVersion(), first: r.first(),
		assets:   r.integer(store.AttrAssets, 0, math.MaxInt64),
		holdings: r.integer(store.AttrHoldings, 0, math.MaxInt64),
	}
}

// membership has the number and the role of a user's newest grant. The role is "" after a revocation.
type membership struct {
	number int64
	role   string
}

// membership reads the attributes of a membership. account is "" for a membership of a group, which does not name it.
func (r *reader) membership(account, user string) membership {
	m, pk2 := membership{}, ""
	if r.has(store.AttrRole) {
		m.role, pk2 = r.role(), store.Membership.PK2(user) // after a revocation it has no index key
	}
	r.keys("", pk2)
	if account != "" {
		r.same(store.AttrAccount, account)
	}
	r.same(store.AttrUser, user)
	m.number = r.integer(store.AttrNumber, 0, grantsMax) // 0: a rebuild found no grant; it deletes no items
	return m
}

// guard limits the debits of an asset on an account with a limit. Commands write it together with the postings.
type guard struct {
	account, asset string
	spent          *big.Int // the sum of all debits, holds included
	change         int64    // the newest version of the account that was written to the guard; 0: none
}

// guard reads the attributes of a guard.
func (r *reader) guard(account, asset string) guard {
	r.keys("", "")
	g := guard{account: account, asset: asset, spent: r.sum(store.AttrSpent, false)}
	if r.has(store.AttrChange) {
		g.change = r.integer(store.AttrChange, 1, changesMax)
	}
	return g
}
