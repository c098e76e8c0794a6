package events

import "unicode/utf8"

// The limits of what a fact may hold. "Chars" are Unicode code points, "Bytes" those of UTF-8. Where no other reason
// is given, the number is the published contract of the HTTP API: small enough that a transaction of the most
// postings stays far below DynamoDB's 400 KB for an item and 4 MB for a transaction.
const (
	// IDChars is the most characters of an id. An id stands in keys twice over (DynamoDB: partition key 2,048 bytes,
	// sort key 1,024) and in URLs.
	IDChars = 64
	// NameChars is the most characters of the name of an asset or account.
	NameChars = 256
	// DescriptionChars is the most characters of the description of an asset or transaction.
	DescriptionChars = 256
	// ScaleMax is the most decimal places of an asset: 18, as of the finest units in use (wei).
	ScaleMax = 18
	// PostingsMin is the least number of legs of a transaction: value comes from somewhere and goes elsewhere.
	PostingsMin = 2
	// PostingsMax is the most legs of a transaction. DynamoDB takes 100 actions in one write: the header, 48 postings
	// and a guard for each of them come to 97.
	PostingsMax = 48
	// MetadataPairs is the most pairs of a transaction's metadata.
	MetadataPairs = 20
	// MetadataKeyChars is the most characters of one metadata key; the least is 1, as DynamoDB has no empty names.
	MetadataKeyChars = 40
	// MetadataValueChars is the most characters of one metadata value.
	MetadataValueChars = 256
	// MetadataBytes is the most bytes of a transaction's metadata, keys and values together.
	MetadataBytes = 4096
	// ProfileBytes is the most bytes of an account's profile in compact JSON.
	ProfileBytes = 4096
	// AddressesMax is the most objects in the list "addresses" of a profile.
	AddressesMax = 10
	// OverdraftAssets is the most assets that one account's overdraft policy names.
	OverdraftAssets = 100
	// ActorChars is the most characters of an actor: AWS bounds the ARN of an IAM identity by 2,048.
	ActorChars = 2048
	// FingerprintChars is the most characters of a request's fingerprint: the number of its rule, a colon, and a hash
	// of up to 512 bits in hexadecimal, 128 characters, with room for the number.
	FingerprintChars = 140
	// ReversalsMax is the most reversals of one transaction: a page of a query, of 1 MB, reads them all.
	ReversalsMax = 1000
	// ChangesMax is the most changes of one account. MemberNumberMax says why.
	ChangesMax = MemberNumberMax
	// AccountGroupsMax is the most groups of one account: whether a user may do something is found out by reading the
	// user's grants in all of them.
	AccountGroupsMax = 10
	// HoldDaysMax is the most days that a hold may be open.
	HoldDaysMax = 31
	// MemberNumberMax is the greatest number of a grant or revocation: sort keys give it 12 digits.
	MemberNumberMax = 999_999_999_999
)

// IDRule is what ValidID demands, in words for callers.
const IDRule = "must be 1 to 64 of A-Z a-z 0-9 . _ : @ -, beginning with a letter or a digit"

// ValidID reports whether s may be the id of an asset, an account, a transaction or a user: see IDRule.
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
