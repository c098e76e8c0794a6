package table

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strconv"
)

// A Key names one item.
type Key struct{ PK, SK string }

// Prefixes of keys. The event source mapping filters by the first three.
const (
	PostingPrefix = "POSTING#" // of a posting's SK, and of its SK2
	GrantPrefix   = "GRANT#"   // of a grant's or revocation's SK
	GroupsPrefix  = "GROUPS#"  // of the SK of a change of an account's groups
	MembersPrefix = "MEMBER#"  // of a membership's SK
	HoldPrefix    = "HOLD#"    // of the SK of an account's entry of a hold, and of the PK of a hold's entry by expiry
)

const (
	assetPrefix       = "ASSET#"
	accountPrefix     = "ACCOUNT#"
	transactionPrefix = "TXN#"
	spendPrefix       = "SPEND#"
	balancePrefix     = "BALANCE#"
	segmentPrefix     = "SEGMENT#"
	userPrefix        = "USER#"
	changePrefix      = "CHANGE#"
	reversalPrefix    = "REVERSAL#"
	groupPrefix       = "GROUP#"
	groupedPrefix     = "GROUPED#"
	outcomeSK         = "OUTCOME"
	currentSK         = "ACCOUNT_CURRENT"
	summarySK         = "ACCOUNT_SUMMARY"
	openHoldSK        = "OPEN_HOLD"
	openHoldsPrefix   = "OPEN_HOLDS#"
	listPrefix        = "TRANSACTIONS#"
	metadataPrefix    = "METADATA#"
	listedPrefix      = "LISTED#"
	pagePrefix        = "ENTRIES#"
)

// Secondary keys without an id.
const (
	ProfileSK2  = "PROFILE"  // of an account's opening: sorts after each of its postings
	AssetsPK2   = "ASSETS"   // of every asset
	AccountsPK2 = "ACCOUNTS" // of every account
	GroupsPK2   = "GROUPS"   // of every group
)

// AssetKey is the key of an asset's registration.
func AssetKey(asset string) Key { return only(assetPrefix + asset) }

// AccountKey is the key of an account's opening. Its PK is that of all items of the account.
func AccountKey(account string) Key { return only(accountPrefix + account) }

// GroupKey is the key of a group's registration; its PK is that of its members and their grants.
func GroupKey(group string) Key { return only(groupPrefix + group) }

// TransactionKey is the key of a transaction's header.
func TransactionKey(id string) Key { return only(transactionPrefix + id) }

// OutcomeKey is the key of the end of a hold.
func OutcomeKey(hold string) Key { return Key{transactionPrefix + hold, outcomeSK} }

// ReversalKey is the key of the number-th reversal of a transaction, from 1 to 999,999,999,999.
func ReversalKey(transaction string, number int64) Key {
	return Key{transactionPrefix + transaction, numbered(reversalPrefix, number)}
}

// ChangeKey is the key of the change that made the version with that number of an account, from 2 to 999,999,999,999.
func ChangeKey(account string, number int64) Key {
	return Key{accountPrefix + account, numbered(changePrefix, number)}
}

// CurrentKey is the key of the copy of an account's newest change. It sorts between the account's opening and its
// summary.
func CurrentKey(account string) Key { return Key{accountPrefix + account, currentSK} }

// HoldKey is the key of an account's entry of a hold. ksuid is that of the hold's first leg.
func HoldKey(account, ksuid string) Key { return Key{accountPrefix + account, HoldPrefix + ksuid} }

// HoldSK2 is the sort key in IndexHistory of an account's entry of a hold.
func HoldSK2(status, ksuid string) string { return HoldPrefix + status + "#" + ksuid }

// OpenHoldKey is the key of a hold's entry by expiry. expiresAt is a text that sorts by time.
func OpenHoldKey(expiresAt, hold string) Key {
	return Key{HoldPrefix + expiresAt + "#" + hold, openHoldSK}
}

// OpenHoldsShards is the number of partitions of IndexInverse over which open holds are spread. Each accepts 1,000
// write units a second.
const OpenHoldsShards = 4

// OpenHoldsPK2 is the partition of IndexInverse, one of OpenHoldsShards, that lists a hold while it is open.
func OpenHoldsPK2(shard int) string { return openHoldsPrefix + strconv.Itoa(shard) }

// OpenHoldsShard is the number of the partition that lists a hold.
func OpenHoldsShard(hold string) int { return shard(hold, OpenHoldsShards) }

// ListShards is the number of partitions over which the list of transactions by time is spread. Each accepts 1,000
// write units a second.
const ListShards = 4

// TransactionsPK is the partition, one of ListShards, of a list of transactions by time.
func TransactionsPK(shard int) string { return listPrefix + strconv.Itoa(shard) }

// ListShard is the number of the partition that lists a transaction.
func ListShard(transaction string) int { return shard(transaction, ListShards) }

// MetadataPK is the partition that lists the transactions with a metadata key and value. The key has no '#'. The value
// may be any text. If it is too long for a key, its hash is used instead. Another value could equal that hash, so
// readers compare the header.
func MetadataPK(key, value string) string {
	pk := metadataPrefix + key + "#" + value
	if len(pk) > IndexKeyBytes {
		pk = fmt.Sprintf("%s%s#sha256:%x", metadataPrefix, key, sha256.Sum256([]byte(value)))
	}
	return pk
}

// ListedSK is the position of a transaction in all lists of transactions. ksuid is that of its first leg.
func ListedSK(ksuid, transaction string) string { return listedPrefix + ksuid + "#" + transaction }

// ListedKey is the key of a transaction's entry in the list by time.
func ListedKey(ksuid, transaction string) Key {
	return Key{TransactionsPK(ListShard(transaction)), ListedSK(ksuid, transaction)}
}

// JournalPK is the partition of the journal.
const JournalPK = "JOURNAL"

// JournalKey is the key of a page of the journal. ksuid was minted right before the page was written.
func JournalKey(ksuid string) Key { return Key{JournalPK, pagePrefix + ksuid} }

// shard spreads ids evenly over n partitions.
func shard(id string, shards uint32) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % shards)
}

// numbered returns the SK of a numbered event. Such keys sort by number.
func numbered(prefix string, number int64) string {
	return fmt.Sprintf("%s%0*d", prefix, numberDigits, number)
}

// only is a key whose SK equals its PK.
func only(pk string) Key { return Key{pk, pk} }

// PostingKey is the key of one posting.
func PostingKey(account, asset, ksuid string) Key {
	return Key{accountPrefix + account, PostingPrefix + asset + "#" + ksuid}
}

// GrantKey is the key of a grant or revocation: the number-th of user on account, from 1 to 999,999,999,999.
func GrantKey(account, user string, number int64) Key {
	return Key{accountPrefix + account, numbered(GrantPrefix+user+"#", number)}
}

// GroupGrantKey is the key of a grant or revocation: the number-th of user in group, from 1 to 999,999,999,999.
func GroupGrantKey(group, user string, number int64) Key {
	return Key{groupPrefix + group, numbered(GrantPrefix+user+"#", number)}
}

// GroupingKey is the key of the number-th change of an account's groups, from 1 to 999,999,999,999.
func GroupingKey(account string, number int64) Key {
	return Key{accountPrefix + account, numbered(GroupsPrefix, number)}
}

// numberDigits is the width of the number of a numbered event.
const numberDigits = 12

// SpendKey is the key of the guard of account in asset.
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

// GroupMembershipKey is the key of user's membership of group.
func GroupMembershipKey(group, user string) Key {
	return Key{groupPrefix + group, MembersPrefix + user}
}

// GroupedKey is the key of account's place in group.
func GroupedKey(account, group string) Key {
	return Key{accountPrefix + account, groupedPrefix + group}
}

// PostingSK2 is a posting's sort key in IndexHistory.
func PostingSK2(ksuid string) string { return PostingPrefix + ksuid }

// HoldersPK2 is the partition of IndexInverse that holds the balances in asset.
func HoldersPK2(asset string) string { return assetPrefix + asset }

// UserPK2 is the partition of IndexInverse that holds the memberships of user, of accounts and of groups.
func UserPK2(user string) string { return userPrefix + user }

// GroupPK2 is the partition of IndexInverse that holds the accounts of group.
func GroupPK2(group string) string { return groupPrefix + group }
