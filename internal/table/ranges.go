package table

// A Range is a range of sort keys for a key condition's BETWEEN, both ends included. The ends need not be keys of
// items. DynamoDB rejects a query whose range is Empty.
type Range struct{ From, To string }

// Empty reports whether no key can lie in r.
func (r Range) Empty() bool { return r.From > r.To }

// Contains reports whether key lies in r.
func (r Range) Contains(key string) bool { return r.From <= key && key <= r.To }

const (
	pastPart = "$" // the byte after '#': sorts after every continuation of a part with '#'
	end      = "~" // sorts after every byte of an id
	next     = "!" // sorts before '#' and every byte of an id: key + next is the lower bound of all keys after key
)

// after returns the keys that begin with prefix and are greater than prefix+last. An empty last means from the first.
func after(prefix, last string) Range {
	r := Range{prefix, prefix + end}
	if last != "" {
		r.From = prefix + last + next
	}
	return r
}

// between returns the keys prefix+k with from <= k < to. An empty from means from the first, an empty to means to the
// end.
func between(prefix, from, to string) Range {
	r := Range{prefix + from, prefix + end}
	if to != "" {
		// The greatest key below to: decrement its last byte, and append the end of a range.
		last := len(to) - 1
		r.To = prefix + to[:last] + string(rune(to[last]-1)) + end
	}
	return r
}

// beyond returns the keys prefix+k with last < k < to. Empty ones as in after and between.
func beyond(prefix, last, to string) Range {
	if last != "" {
		last += next
	}
	return between(prefix, last, to)
}

// PostingsAfter returns the SKs of an asset's postings in (after, through]. An empty after means from the first, an
// empty through means to the last.
func PostingsAfter(asset, afterKSUID, through string) Range {
	prefix := PostingPrefix + asset + "#"
	r := after(prefix, afterKSUID)
	if through != "" {
		r.To = prefix + through
	}
	return r
}

// PostingsBetween returns the SKs of an asset's postings in [from, to). An empty from means from the first, an empty
// to means to the last.
func PostingsBetween(asset, from, to string) Range {
	return between(PostingPrefix+asset+"#", from, to)
}

// PostingAssetAfter returns the SKs of the postings of all assets whose id is greater than asset; an empty asset means
// all. The first key in the range has the next asset. So a reader can list the assets of an account by skipping from
// one to the next.
func PostingAssetAfter(asset string) Range { return nextAfter(PostingPrefix, asset) }

// SegmentsFrom returns the SKs of an asset's segments that end at ksuid or later. Only the first of them can contain
// ksuid. An empty ksuid means all.
func SegmentsFrom(asset, ksuid string) Range { return between(segmentPrefix+asset+"#", ksuid, "") }

// PageRange returns the SKs of an account's opening, its summary and all its balances.
func PageRange() Range { return Range{"ACCOUNT", "BALANCE" + end} }

// BalancesRange returns the SKs of an account's balances in assets whose id is greater than afterAsset; an empty one
// means all.
func BalancesRange(afterAsset string) Range { return after(balancePrefix, afterAsset) }

// GrantsOf returns the SKs of all grants and revocations of user on one account or in one group, by number.
func GrantsOf(user string) Range { return after(GrantPrefix+user+"#", "") }

// ChangesBefore returns the SKs of an account's changes with numbers below number; 0 means all.
func ChangesBefore(number int64) Range {
	if number == 0 {
		return after(changePrefix, "")
	}
	return Range{changePrefix, numbered(changePrefix, number-1)}
}

// GroupingsFrom returns the SKs of the changes of an account's groups from a number on; 1 means all.
func GroupingsFrom(number int64) Range {
	return Range{numbered(GroupsPrefix, number), GroupsPrefix + end}
}

// GroupedRange returns the SKs of an account's places in groups whose id is greater than afterGroup; an empty one means
// all.
func GroupedRange(afterGroup string) Range { return after(groupedPrefix, afterGroup) }

// ReversalsAfter returns the SKs, in a transaction's partition, of its reversals with numbers above number.
func ReversalsAfter(number int64) Range {
	return Range{numbered(reversalPrefix, number+1), reversalPrefix + end}
}

// LifecycleRange returns the SKs, in a transaction's partition, of its header, its outcome and its reversals.
func LifecycleRange() Range { return Range{outcomeSK, transactionPrefix + end} }

// HoldsBefore returns the SKs of an account's holds that were placed before ksuid; an empty one means all.
func HoldsBefore(ksuid string) Range { return between(HoldPrefix, "", ksuid) }

// HoldsAfter returns the SKs of an account's holds that were placed after ksuid; an empty one means all.
func HoldsAfter(ksuid string) Range { return after(HoldPrefix, ksuid) }

// HoldsOfStatus returns the SK2s in IndexHistory of an account's holds of one status that were placed before ksuid; an
// empty one means all.
func HoldsOfStatus(status, ksuid string) Range { return between(HoldPrefix+status+"#", "", ksuid) }

// OpenHoldsRange returns the PKs, in a partition of IndexInverse, of open holds after the one with PK last, "" for
// none, that expire at until or before; an empty text means all.
func OpenHoldsRange(last, until string) Range {
	r := Range{HoldPrefix, HoldPrefix + end}
	if last != "" {
		r.From = last + next
	}
	if until != "" {
		r.To = HoldPrefix + until + "#" + end
	}
	return r
}

// ListedBetween returns the SKs, in a list of transactions, of entries in [from, to): KSUIDs, or positions, which are a
// KSUID, a '#' and the transaction's id. An empty from means from the first, an empty to means to the last.
func ListedBetween(from, to string) Range { return between(listedPrefix, from, to) }

// ListedAfter returns the SKs, in a list of transactions, of entries after the position last and before to, which may
// be empty as in ListedBetween.
func ListedAfter(last, to string) Range { return beyond(listedPrefix, last, to) }

// JournalAfter returns the SKs of the journal's pages after the KSUID last and before the KSUID to. An empty last means
// from the first, an empty to means to the last.
func JournalAfter(last, to string) Range { return beyond(pagePrefix, last, to) }

// SpendsAfter returns the SKs of an account's guards of assets whose id is greater than asset; an empty one means all.
func SpendsAfter(asset string) Range { return after(spendPrefix, asset) }

// MembersRange returns the SKs of memberships, of one account or group, of users whose id is greater than afterUser; an
// empty one means all.
func MembersRange(afterUser string) Range { return after(MembersPrefix, afterUser) }

// HistoryRange returns the SK2s in IndexHistory of an account's postings in [from, to). An empty from means from the
// first, an empty to means to the last. The account itself (ProfileSK2) is not in it.
func HistoryRange(from, to string) Range { return between(PostingPrefix, from, to) }

// AccountsRange returns the PKs, in a partition of IndexInverse, of accounts whose id begins with prefix and is
// greater than afterAccount. Empty ones mean all. It serves lists of accounts, of holders, and of the accounts of a
// user or a group.
func AccountsRange(prefix, afterAccount string) Range {
	return listed(accountPrefix, prefix, afterAccount)
}

// AssetsRange returns the PKs, in AssetsPK2 of IndexInverse, of assets whose id begins with prefix and is greater than
// afterAsset. Empty ones mean all.
func AssetsRange(prefix, afterAsset string) Range { return listed(assetPrefix, prefix, afterAsset) }

// GroupsRange returns the PKs, in a partition of IndexInverse, of groups whose id begins with prefix and is greater
// than afterGroup. Empty ones mean all. It serves lists of groups and of a user's groups.
func GroupsRange(prefix, afterGroup string) Range { return listed(groupPrefix, prefix, afterGroup) }

func listed(kind, prefix, last string) Range {
	r := Range{kind + prefix, kind + prefix + end}
	if from := kind + last + next; last != "" && from > r.From {
		r.From = from
	}
	return r
}

// nextAfter returns the SKs that begin with prefix and whose first id is greater than id; an empty id means all. The
// first key in the range has the next id.
func nextAfter(prefix, id string) Range { return Range{prefix + id + pastPart, prefix + end} }

// BalanceAfter returns the SKs of an account's balances in assets after asset, for skipping from one to the next.
func BalanceAfter(asset string) Range { return nextAfter(balancePrefix, asset) }

// SegmentAssetAfter returns the SKs of an account's segments of assets after asset; see BalanceAfter.
func SegmentAssetAfter(asset string) Range { return nextAfter(segmentPrefix, asset) }

// GroupedAfter returns the SKs of an account's places in groups after group; see BalanceAfter.
func GroupedAfter(group string) Range { return nextAfter(groupedPrefix, group) }

// GrantUserAfter returns the SKs of an account's grants and revocations of users after user; see BalanceAfter.
func GrantUserAfter(user string) Range { return nextAfter(GrantPrefix, user) }

// MembershipAfter returns the SKs of an account's memberships of users after user; see BalanceAfter.
func MembershipAfter(user string) Range { return nextAfter(MembersPrefix, user) }

// SegmentsThrough returns the SKs of an asset's segments that end in (after, through]. An empty after means from the
// first, an empty through means to the last.
func SegmentsThrough(asset, after, through string) Range {
	r := SegmentsAfter(asset, after)
	if through != "" {
		r.To = segmentPrefix + asset + "#" + through
	}
	return r
}

// SegmentsAfter returns the SKs of an asset's segments that end after ksuid, which may be any text; an empty one means
// all.
func SegmentsAfter(asset, ksuid string) Range { return after(segmentPrefix+asset+"#", ksuid) }
