package audit

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// read reads the sums of at least one posting.
func (f *fold) read(r *reader) {
	*f = noFold()
	r.read(
		must(store.AttrThrough, aKSUID, &f.through),
		must(store.AttrCount, aCount, &f.count),
	)
	for i, figure := range foldSums {
		sum := must(figure.name, aSum, &f.sums[i])
		if figure.isSigned {
			sum = must(figure.name, aSignedSum, &f.sums[i])
		}
		sum.isOptional = figure.ofHolds
		if r.read(sum); figure.ofHolds && r.has(figure.name) && !r.broken && f.sums[i].Sign() == 0 {
			r.fault(WrongValue, figure.name, "a number that is not 0, or no such attribute")
		}
	}
}

// aFold is a row for a fold. It is absent if it counts no postings.
func aFold(name string, to *fold) row {
	*to = noFold()
	return holding(name, "a map", func(r *reader, m *types.AttributeValueMemberM) {
		inner := r.inner(name, m.Value)
		to.read(inner)
		inner.finish()
	}).optional()
}

// aVersion is the version of a projection, which increases with every write.
var aVersion = integer(1, store.VersionMax)

// balance is the projection of one asset of one account. The seal counts all postings of the base, the head all
// postings of the seal.
type balance struct {
	account, asset   string
	version          int64 // 0: no balance is stored
	base, seal, head fold
	first            string
	unfinished       bool
}

func readBalance(r *reader, key []string) balance {
	b := balance{account: key[0], asset: key[1]}
	r.keys("", store.Balance.PK2(b.asset))
	r.read(
		keyed(store.AttrAccount, b.account),
		keyed(store.AttrAsset, b.asset),
		must(store.AttrVersion, aVersion, &b.version),
		may(store.AttrFirst, aKSUID, &b.first),
		aFold(store.AttrBase, &b.base),
		aFold(store.AttrSeal, &b.seal),
		aFold(store.AttrHead, &b.head),
		may(store.AttrUnfinished, aTrueFlag, &b.unfinished),
	)
	return b
}

// segment is a fold of the postings after one KSUID and through another. It is below the base of its balance.
type segment struct {
	account, asset, after string
	fold
}

// readSegment reads a segment. Its key ends with the KSUID of its last posting.
func readSegment(r *reader, key []string) segment {
	s := segment{account: key[0], asset: key[1]}
	r.read(may(store.AttrAfter, aKSUID, &s.after))
	if s.fold.read(r); s.through != key[2] && !r.broken {
		r.fault(WrongKey, store.AttrThrough, strconv.Quote(key[2]))
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

func readSummary(r *reader, _ []string) (s summary) {
	r.read(
		must(store.AttrVersion, aVersion, &s.version),
		may(store.AttrFirst, aKSUID, &s.first),
		must(store.AttrAssets, aCount, &s.assets),
		must(store.AttrHoldings, aCount, &s.holdings),
	)
	return s
}

// membership has the number and the role of a user's newest grant. The role is "" after a revocation.
type membership struct{ numbered }

func readMembership(r *reader, key []string) membership {
	r.read(keyed(store.AttrAccount, key[0]))
	return readGroupMembership(r, key)
}

// readGroupMembership reads a membership of a group, which does not name it. It has an index key while it has a role.
func readGroupMembership(r *reader, key []string) (m membership) {
	pk2 := ""
	if r.has(store.AttrRole) {
		pk2 = store.Membership.PK2(key[1])
	}
	r.keys("", pk2)
	r.read(
		keyed(store.AttrUser, key[1]),
		must(store.AttrNumber, aShown, &m.number),
		may(store.AttrRole, aRole, &m.state),
	)
	return m
}

// guard limits the debits of an asset on an account with a limit. Commands write it together with the postings.
type guard struct {
	account, asset string
	spent          *big.Int // the sum of all debits, holds included
	change         int64    // the newest version of the account that was written to the guard; 0: none
}

func readGuard(r *reader, key []string) guard {
	g := guard{account: key[0], asset: key[1]}
	r.read(
		must(store.AttrSpent, aSum, &g.spent),
		may(store.AttrChange, integer(1, changesMax), &g.change),
	)
	return g
}
