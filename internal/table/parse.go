package table

import (
	"strconv"
	"strings"
)

// IsPosting reports whether an item with this SK is a posting.
func IsPosting(sk string) bool { return strings.HasPrefix(sk, PostingPrefix) }

// IsGrant reports whether an item with this SK is a grant or a revocation.
func IsGrant(sk string) bool { return strings.HasPrefix(sk, GrantPrefix) }

// IsGrouping reports whether an item with this SK is a change of an account's groups.
func IsGrouping(sk string) bool { return strings.HasPrefix(sk, GroupsPrefix) }

// IsHeader reports whether an item with this SK is a transaction's header.
func IsHeader(sk string) bool { return strings.HasPrefix(sk, transactionPrefix) }

// IsOutcome reports whether an item with this SK is the end of a hold.
func IsOutcome(sk string) bool { return strings.HasPrefix(sk, outcomeSK) }

// IsProjected reports whether an item with this SK is an event that is projected.
func IsProjected(sk string) bool { return IsPosting(sk) || IsGrant(sk) || IsGrouping(sk) }

// EventPrefixes returns the prefixes of events' SKs. Those of projected events come first: postings, grants and changes
// of groups. Then come headers, ends of holds, reversals, assets, accounts, changes of accounts, and groups. No other
// items have these prefixes.
func EventPrefixes() []string {
	return []string{
		PostingPrefix, GrantPrefix, GroupsPrefix, transactionPrefix, outcomeSK, reversalPrefix, assetPrefix,
		accountPrefix, changePrefix, groupPrefix,
	}
}

// IsEvent reports whether an item with this SK is an event.
func IsEvent(sk string) bool {
	for _, prefix := range EventPrefixes() {
		if strings.HasPrefix(sk, prefix) {
			return true
		}
	}
	return false
}

// The Parse functions accept any key. ok is true if the Key function of the same name could have built it.

// ParseAsset reads an asset's key.
func ParseAsset(k Key) (asset string, ok bool) { return root(k, assetPrefix) }

// ParseAccount reads the key of an account's opening.
func ParseAccount(k Key) (account string, ok bool) { return root(k, accountPrefix) }

// ParseGroup reads a group's key.
func ParseGroup(k Key) (group string, ok bool) { return root(k, groupPrefix) }

// ParseTransaction reads the key of a transaction's header.
func ParseTransaction(k Key) (id string, ok bool) { return root(k, transactionPrefix) }

// ParsePosting reads a posting's key.
func ParsePosting(k Key) (account, asset, ksuid string, ok bool) {
	return two(k, accountPrefix, PostingPrefix)
}

// ParseGrant reads the key of a grant or a revocation on an account.
func ParseGrant(k Key) (account, user string, number int64, ok bool) { return grant(k, accountPrefix) }

// ParseGroupGrant reads the key of a grant or a revocation in a group.
func ParseGroupGrant(k Key) (group, user string, number int64, ok bool) { return grant(k, groupPrefix) }

// ParseChange reads the key of a change of an account.
func ParseChange(k Key) (account string, number int64, ok bool) {
	return change(k, accountPrefix, changePrefix)
}

// ParseGrouping reads the key of a change of an account's groups.
func ParseGrouping(k Key) (account string, number int64, ok bool) {
	return change(k, accountPrefix, GroupsPrefix)
}

// ParseReversal reads the key of a reversal.
func ParseReversal(k Key) (transaction string, number int64, ok bool) {
	return change(k, transactionPrefix, reversalPrefix)
}

// ParseOutcome reads the key of the end of a hold.
func ParseOutcome(k Key) (hold string, ok bool) { return fixed(k, transactionPrefix, outcomeSK) }

// ParseCurrent reads the key of the copy of an account's newest change.
func ParseCurrent(k Key) (account string, ok bool) { return fixed(k, accountPrefix, currentSK) }

// ParseHold reads the key of an account's entry of a hold.
func ParseHold(k Key) (account, ksuid string, ok bool) { return one(k, accountPrefix, HoldPrefix) }

// ParseOpenHold reads the key of a hold's entry by expiry.
func ParseOpenHold(k Key) (expiresAt, hold string, ok bool) {
	rest, cut := strings.CutPrefix(k.PK, HoldPrefix)
	expiresAt, hold, both := strings.Cut(rest, "#")
	if !cut || !both || expiresAt == "" || hold == "" || strings.Contains(hold, "#") || k.SK != openHoldSK {
		return "", "", false
	}
	return expiresAt, hold, true
}

// ParseListed reads the key of an entry in the list of transactions by time.
func ParseListed(k Key) (ksuid, transaction string, ok bool) {
	ksuid, transaction, ok = parseListedSK(k.SK)
	if !ok || k.PK != TransactionsPK(ListShard(transaction)) {
		return "", "", false
	}
	return ksuid, transaction, true
}

// ParseListedMetadata reads the key of an entry in a list of transactions by metadata. The value may be a hash.
func ParseListedMetadata(k Key) (key, value, ksuid, transaction string, ok bool) {
	rest, cut := strings.CutPrefix(k.PK, metadataPrefix)
	key, value, both := strings.Cut(rest, "#")
	ksuid, transaction, ok = parseListedSK(k.SK)
	if !cut || !both || key == "" || !ok || MetadataPK(key, value) != k.PK {
		return "", "", "", "", false
	}
	return key, value, ksuid, transaction, true
}

func parseListedSK(sk string) (ksuid, transaction string, ok bool) {
	rest, cut := strings.CutPrefix(sk, listedPrefix)
	ksuid, transaction, both := strings.Cut(rest, "#")
	if !cut || !both || ksuid == "" || transaction == "" || strings.Contains(transaction, "#") {
		return "", "", false
	}
	return ksuid, transaction, true
}

// ParseJournal reads the key of a page of the journal.
func ParseJournal(k Key) (ksuid string, ok bool) {
	if k.PK != JournalPK {
		return "", false
	}
	return part(k.SK, pagePrefix)
}

// parseNumber reads the number of a numbered event.
func parseNumber(digits string) (int64, bool) {
	if len(digits) != numberDigits || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil && number > 0
}

// fixed reads a key whose SK is the given one.
func fixed(k Key, prefix, sk string) (id string, ok bool) {
	id, ok = part(k.PK, prefix)
	if !ok || k.SK != sk {
		return "", false
	}
	return id, true
}

// ParseSpend reads a guard's key.
func ParseSpend(k Key) (account, asset string, ok bool) { return one(k, accountPrefix, spendPrefix) }

// ParseBalance reads a balance's key.
func ParseBalance(k Key) (account, asset string, ok bool) {
	return one(k, accountPrefix, balancePrefix)
}

// ParseSegment reads a segment's key.
func ParseSegment(k Key) (account, asset, through string, ok bool) {
	return two(k, accountPrefix, segmentPrefix)
}

// ParseSummary reads a summary's key.
func ParseSummary(k Key) (account string, ok bool) {
	return fixed(k, accountPrefix, summarySK)
}

// ParseMembership reads a membership's key.
func ParseMembership(k Key) (account, user string, ok bool) {
	return one(k, accountPrefix, MembersPrefix)
}

// ParseGroupMembership reads the key of a membership of a group.
func ParseGroupMembership(k Key) (group, user string, ok bool) {
	return one(k, groupPrefix, MembersPrefix)
}

// ParseGrouped reads the key of an account's place in a group.
func ParseGrouped(k Key) (account, group string, ok bool) {
	return one(k, accountPrefix, groupedPrefix)
}

// ParseOwner returns the account of a key's partition.
func ParseOwner(k Key) (account string, ok bool) { return part(k.PK, accountPrefix) }

// ParseGroupOwner returns the group of a key's partition.
func ParseGroupOwner(k Key) (group string, ok bool) { return part(k.PK, groupPrefix) }

// FirstID returns the part of an SK at the position of its first id, even if it is not a valid id.
func FirstID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// LastID returns the text after the second '#' of an SK, even if it is not a valid id. In a segment's SK it is the
// KSUID of the segment's end.
func LastID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	_, last, _ := strings.Cut(rest, "#")
	return last
}

// part reads a prefix followed by one id.
func part(s, prefix string) (id string, ok bool) {
	id, ok = strings.CutPrefix(s, prefix)
	if !ok || id == "" || strings.Contains(id, "#") {
		return "", false
	}
	return id, true
}

// root reads a key whose SK equals its PK.
func root(k Key, prefix string) (id string, ok bool) {
	if k.PK != k.SK {
		return "", false
	}
	return part(k.PK, prefix)
}

// one reads a key in a partition whose PK begins with owner, and whose SK has one id.
func one(k Key, owner, prefix string) (of, id string, ok bool) {
	of, ok = part(k.PK, owner)
	if !ok {
		return "", "", false
	}
	if id, ok = part(k.SK, prefix); !ok {
		return "", "", false
	}
	return of, id, true
}

// grant reads the key of a grant in a partition whose PK begins with owner.
func grant(k Key, owner string) (id, user string, number int64, ok bool) {
	id, user, digits, ok := two(k, owner, GrantPrefix)
	number, numbered := parseNumber(digits)
	if !ok || !numbered {
		return "", "", 0, false
	}
	return id, user, number, true
}

// change reads a key in a partition whose PK begins with owner, and whose SK has a number.
func change(k Key, owner, prefix string) (of string, number int64, ok bool) {
	of, digits, ok := one(k, owner, prefix)
	number, numbered := parseNumber(digits)
	if !ok || !numbered {
		return "", 0, false
	}
	return of, number, true
}

// two reads a key in a partition whose PK begins with owner, and whose SK has two ids.
func two(k Key, owner, prefix string) (id, first, second string, ok bool) {
	id, ok = part(k.PK, owner)
	rest, cut := strings.CutPrefix(k.SK, prefix)
	first, second, both := strings.Cut(rest, "#")
	if !ok || !cut || !both || first == "" || second == "" || strings.Contains(second, "#") {
		return "", "", "", false
	}
	return id, first, second, true
}
