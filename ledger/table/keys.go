package table

import "fmt"

// A Key names one item.
type Key struct{ PK, SK string }

// Beginnings of keys that others need: the event source mapping filters by the first two.
const (
	PostingPrefix = "POSTING#" // of a posting's SK, and of its SK2
	GrantPrefix   = "GRANT#"   // of a grant's or revocation's SK
	MembersPrefix = "MEMBER#"  // of a membership's SK
)

const (
	assetPrefix       = "ASSET#"
	accountPrefix     = "ACCOUNT#"
	transactionPrefix = "TXN#"
	spendPrefix       = "SPEND#"
	balancePrefix     = "BALANCE#"
	segmentPrefix     = "SEGMENT#"
	userPrefix        = "USER#"
	summarySK         = "ACCOUNT_SUMMARY"
)

// Values of the secondary keys that hold no id.
const (
	ProfileSK2  = "PROFILE"  // of an account's opening: sorts after each of its postings
	AssetsPK2   = "ASSETS"   // of every asset
	AccountsPK2 = "ACCOUNTS" // of every account
)

// AssetKey is the key of an asset's registration.
func AssetKey(asset string) Key { return only(assetPrefix + asset) }

// AccountKey is the key of an account's opening; its PK is that of everything of the account.
func AccountKey(account string) Key { return only(accountPrefix + account) }

// TransactionKey is the key of a transaction's header.
func TransactionKey(id string) Key { return only(transactionPrefix + id) }

// only is the key of what has its partition's key as its place in it, too.
func only(pk string) Key { return Key{pk, pk} }

// PostingKey is the key of one posting.
func PostingKey(account, asset, ksuid string) Key {
	return Key{accountPrefix + account, PostingPrefix + asset + "#" + ksuid}
}

// GrantKey is the key of a grant or revocation: the number-th of user on account, from 1 to 999,999,999,999.
func GrantKey(account, user string, number int64) Key {
	return Key{accountPrefix + account, fmt.Sprintf("%s%s#%0*d", GrantPrefix, user, grantDigits, number)}
}

// grantDigits is the width of a grant's number, so that text order is the order of numbers.
const grantDigits = 12

// SpendKey is the key of the guard of what account ever spent of asset.
func SpendKey(account, asset string) Key { return Key{accountPrefix + account, spendPrefix + asset} }

// BalanceKey is the key of account's balance in asset.
func BalanceKey(account, asset string) Key {
	return Key{accountPrefix + account, balancePrefix + asset}
}

// SegmentKey is the key of the segment of account and asset whose last posting is through.
func SegmentKey(account, asset, through string) Key {
	return Key{accountPrefix + account, segmentPrefix + asset + "#" + through}
}

// SummaryKey is the key of an account's summary.
func SummaryKey(account string) Key { return Key{accountPrefix + account, summarySK} }

// MembershipKey is the key of user's membership of account.
func MembershipKey(account, user string) Key {
	return Key{accountPrefix + account, MembersPrefix + user}
}

// PostingSK2 is a posting's sort key in IndexHistory.
func PostingSK2(ksuid string) string { return PostingPrefix + ksuid }

// HoldersPK2 is the partition of IndexInverse that holds the balances in asset.
func HoldersPK2(asset string) string { return assetPrefix + asset }

// UserPK2 is the partition of IndexInverse that holds the memberships of user.
func UserPK2(user string) string { return userPrefix + user }
