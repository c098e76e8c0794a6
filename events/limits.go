package events

import "unicode/utf8"

// Limits of the fields of events. "Chars" are Unicode code points, "Bytes" those of UTF-8. Unless another reason is
// given, a limit is part of the published HTTP API. It is small enough that the largest transaction stays far below
// DynamoDB's 400 KB for an item and 4 MB for a transaction.
const (
	// IDChars is the maximum length of an id. Keys contain up to two ids (DynamoDB allows 2,048 bytes for a partition
	// key, 1,024 for a sort key), and so do URLs.
	IDChars = 64
	// NameChars is the maximum length of the name of an asset, account or group.
	NameChars = 256
	// DescriptionChars is the maximum length of a description.
	DescriptionChars = 256
	// ScaleMax is the maximum number of decimal places of an asset: that of the finest unit in use (wei).
	ScaleMax = 18
	// PostingsMin is the minimum number of legs of a transaction: double entry.
	PostingsMin = 2
	// PostingsMax is the maximum number of legs of a transaction. DynamoDB allows 100 actions in one write, and the
	// header, 48 postings and a guard for each posting are 97.
	PostingsMax = 48
	// MetadataPairs is the maximum number of pairs of metadata, of a transaction or an account.
	MetadataPairs = 20
	// MetadataKeyChars is the maximum length of a metadata key. The minimum is 1.
	MetadataKeyChars = 40
	// MetadataValueChars is the maximum length of a metadata value.
	MetadataValueChars = 256
	// MetadataBytes is the maximum size of metadata, keys and values together.
	MetadataBytes = 4096
	// ProfileBytes is the maximum size of an account's profile in compact JSON.
	ProfileBytes = 4096
	// AddressesMax is the maximum length of the list "addresses" in a profile.
	AddressesMax = 10
	// OverdraftAssets is the maximum number of assets in an account's overdraft policy.
	OverdraftAssets = 100
	// RatesMax is the maximum number of an account's limits over time.
	RatesMax = 100
	// AssetRatesMax is the maximum number of an account's limits over time in one asset. A guard counts each.
	AssetRatesMax = 4
	// ZoneChars is the maximum length of the name of a time zone. The longest in use has 32.
	ZoneChars = 64
	// HighestLimits is the maximum number of assets whose limit was once higher in an account than it is now.
	HighestLimits = 1000
	// ActorChars is the maximum length of an actor: that of the ARN of an IAM identity (AWS: 2,048).
	ActorChars = 2048
	// FingerprintChars is the maximum length of a request's fingerprint: the number of its rule, a colon, and a hash of
	// up to 512 bits in hexadecimal, or two smaller ones.
	FingerprintChars = 140
	// ReversalsMax is the maximum number of reversals of a transaction: two query pages of 1 MB have all of them.
	ReversalsMax = 1000
	// ChangesMax is the maximum number of an account's version: see MemberNumberMax.
	ChangesMax = MemberNumberMax
	// AccountGroupsMax is the maximum number of groups of an account. A request of a user reads the user's grants in
	// all of them, unless the role on the account itself is enough.
	AccountGroupsMax = 10
	// HoldDaysMax is the maximum number of days that a hold may be open.
	HoldDaysMax = 31
	// MemberNumberMax is the greatest number of a grant or revocation: it has 12 digits in sort keys.
	MemberNumberMax = 999_999_999_999
)

// IDRule is the rule of ValidID, as a text for callers.
const IDRule = "must have 1 to 64 characters of A-Z a-z 0-9 . _ : @ - and begin with a letter or a digit"

// ValidID reports whether s can be the id of an asset, account, transaction, user or group: see IDRule.
func ValidID(s string) bool {
	if s == "" || len(s) > IDChars || !isAlphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isAlphanumeric(c), c == '.', c == '_', c == ':', c == '@', c == '-':
		default:
			return false
		}
	}
	return true
}

// validText reports whether s is UTF-8 of least to most characters.
func validText(s string, least, most int) bool {
	if !utf8.ValidString(s) {
		return false
	}
	chars := utf8.RuneCountInString(s)
	return least <= chars && chars <= most
}
