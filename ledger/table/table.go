// Package table is the layout of the ledger's one DynamoDB table: every key, attribute and index name, and what a
// request to it costs.
//
// An item belongs to a partition (PK) and a place in it (SK). An account's partition holds all that is the account's:
// its opening, its postings and grants (events), the guard of what it spent, and what is projected from the events.
// Keys are built from ids, and ids never contain '#': its alphabet is A-Z a-z 0-9 . _ : @ -, all of which sort between
// '#' and '~'. So '#' ends a part, keys sort as their ids do, and '~' ends a range.
//
// Nothing else spells these names; template.yaml repeats them for AWS, and a test compares the two. The package
// imports no SDK and nothing of ours: strings in, strings out. All of it is safe for concurrent use.
package table

// Attributes of every item.
const (
	AttrPK   = "PK"   // partition key
	AttrSK   = "SK"   // sort key
	AttrType = "Type" // an event's name, or a Kind
)

// Keys of the two sparse indexes: an item without them is not in that index.
const (
	AttrSK2 = "SK2" // sort key of IndexHistory
	AttrPK2 = "PK2" // partition key of IndexInverse
)

// AttrEventVersion is the version of an event's stored form, a number. The other attributes of an event are named by
// its codec.
const AttrEventVersion = "V"

// Attributes of guards and projections.
const (
	AttrSpent   = "Spent"   // of a spend: the gross debits ever made
	AttrVersion = "Version" // of a projection: compared and counted up by every write

	AttrAccount = "Account"
	AttrAsset   = "Asset"
	AttrUser    = "User"

	AttrBase       = "Base"       // of a balance: the fold of its closed segments
	AttrSeal       = "Seal"       // of a balance: the fold through its newest settled posting
	AttrHead       = "Head"       // of a balance: the fold of everything seen, which is what is shown
	AttrUnfinished = "Unfinished" // of a balance: saved before its end was read
	AttrFirst      = "First"      // of a balance or a summary: its first posting

	AttrAfter       = "After"   // of a segment: the KSUID before its first
	AttrThrough     = "Through" // of a fold: the last KSUID in it
	AttrCredits     = "Credits"
	AttrDebits      = "Debits"
	AttrExpenditure = "Expenditure"
	AttrCount       = "Count" // of a fold: the number of its postings

	AttrAssets   = "Assets"   // of a summary: balances ever made
	AttrHoldings = "Holdings" // of a summary: balances that are not zero

	AttrRole   = "Role"   // of a membership
	AttrNumber = "Number" // of a membership: the number of the grant that it shows
)

// Values of AttrType for guards and projections. Events have their own names there.
const (
	KindSpend      = "Spend"
	KindBalance    = "Balance"
	KindSegment    = "Segment"
	KindSummary    = "AccountSummary"
	KindMembership = "Membership"
)

// StreamView is what the table's stream carries. Events never change, so there is no old image worth paying for.
const StreamView = "NEW_IMAGE"

// The two indexes. Neither can be read strongly.
const (
	IndexHistory = "GSI1" // (PK, SK2): an account's postings over all assets, and above them the account
	IndexInverse = "GSI2" // (PK2, PK): assets, accounts, holders of an asset, accounts of a user
)
