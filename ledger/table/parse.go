package table

import (
	"strconv"
	"strings"
)

// IsPosting tells whether an item with this SK is a posting.
func IsPosting(sk string) bool { return strings.HasPrefix(sk, PostingPrefix) }

// IsGrant tells whether an item with this SK is a grant or a revocation.
func IsGrant(sk string) bool { return strings.HasPrefix(sk, GrantPrefix) }

// The Parse functions take any key: ok is false unless it is one that the function of the same name builds.

// ParseAsset reads an asset's key.
func ParseAsset(k Key) (asset string, ok bool) { return root(k, assetPrefix) }

// ParseAccount reads the key of an account's opening.
func ParseAccount(k Key) (account string, ok bool) { return root(k, accountPrefix) }

// ParseTransaction reads the key of a transaction's header.
func ParseTransaction(k Key) (id string, ok bool) { return root(k, transactionPrefix) }

// ParsePosting reads a posting's key.
func ParsePosting(k Key) (account, asset, ksuid string, ok bool) { return two(k, PostingPrefix) }

// ParseGrant reads the key of a grant or a revocation.
func ParseGrant(k Key) (account, user string, number int64, ok bool) {
	account, user, digits, ok := two(k, GrantPrefix)
	if !ok || len(digits) != grantDigits || strings.Trim(digits, "0123456789") != "" {
		return "", "", 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 {
		return "", "", 0, false
	}
	return account, user, number, true
}

// ParseSpend reads a spend's key.
func ParseSpend(k Key) (account, asset string, ok bool) { return one(k, spendPrefix) }

// ParseBalance reads a balance's key.
func ParseBalance(k Key) (account, asset string, ok bool) { return one(k, balancePrefix) }

// ParseSegment reads a segment's key.
func ParseSegment(k Key) (account, asset, through string, ok bool) { return two(k, segmentPrefix) }

// ParseSummary reads a summary's key.
func ParseSummary(k Key) (account string, ok bool) {
	account, ok = part(k.PK, accountPrefix)
	if !ok || k.SK != summarySK {
		return "", false
	}
	return account, true
}

// ParseMembership reads a membership's key.
func ParseMembership(k Key) (account, user string, ok bool) { return one(k, MembersPrefix) }

// ParseOwner reads whose partition a key is in: that of an account.
func ParseOwner(k Key) (account string, ok bool) { return part(k.PK, accountPrefix) }

// FirstID returns what stands in the place of an SK's first id, whatever it is.
func FirstID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	id, _, _ := strings.Cut(rest, "#")
	return id
}

// LastID returns what stands after the second '#' of an SK, whatever it is: in a segment's, the KSUID that it ends at.
func LastID(sk string) string {
	_, rest, _ := strings.Cut(sk, "#")
	_, last, _ := strings.Cut(rest, "#")
	return last
}

// part reads prefix and an id, and nothing else.
func part(s, prefix string) (id string, ok bool) {
	id, ok = strings.CutPrefix(s, prefix)
	if !ok || id == "" || strings.Contains(id, "#") {
		return "", false
	}
	return id, true
}

// root reads a key whose SK repeats its PK.
func root(k Key, prefix string) (id string, ok bool) {
	if k.PK != k.SK {
		return "", false
	}
	return part(k.PK, prefix)
}

// one reads a key in an account's partition whose SK holds one id.
func one(k Key, prefix string) (account, id string, ok bool) {
	account, ok = part(k.PK, accountPrefix)
	if !ok {
		return "", "", false
	}
	if id, ok = part(k.SK, prefix); !ok {
		return "", "", false
	}
	return account, id, true
}

// two reads a key in an account's partition whose SK holds two ids.
func two(k Key, prefix string) (account, first, second string, ok bool) {
	account, ok = part(k.PK, accountPrefix)
	rest, cut := strings.CutPrefix(k.SK, prefix)
	first, second, both := strings.Cut(rest, "#")
	if !ok || !cut || !both || first == "" || second == "" || strings.Contains(second, "#") {
		return "", "", "", false
	}
	return account, first, second, true
}
