package table

// Attributes of every item.
const (
	AttrPK   = "PK"   // partition key
	AttrSK   = "SK"   // sort key
	AttrType = "Type" // of which kind the item is: see ItemType
	AttrForm = "V"    // the version of the stored form, a number
)

// Keys of the two sparse indexes: an item without them is not in that index.
const (
	AttrSK2 = "SK2" // sort key of IndexHistory
	AttrPK2 = "PK2" // partition key of IndexInverse
)

// AttrChecksum is the attribute of an event with the checksum over all its stored fields. The others are named by their
// codec.
const AttrChecksum = "Checksum"

// Attributes of guards and projections.
const (
	AttrSpent   = "Spent"   // of a guard: the sum of all debits and holds ever made
	AttrChange  = "Change"  // of a guard: the account's version that was set last; absent in a new guard
	AttrVersion = "Version" // of a projection: compared and incremented by every write

	AttrAccount = "Account"
	AttrAsset   = "Asset"
	AttrUser    = "User"

	AttrBase       = "Base"       // of a balance: the fold of its closed segments
	AttrSeal       = "Seal"       // of a balance: the fold through its newest settled posting
	AttrHead       = "Head"       // of a balance: the fold of all postings; readers see it
	AttrUnfinished = "Unfinished" // of a balance: saved before all its postings were read
	AttrFirst      = "First"      // of a balance or a summary: its first posting

	AttrAfter       = "After"   // of a segment: the KSUID before its first; of a cursor: the position in the journal
	AttrThrough     = "Through" // of a fold: the last KSUID in it
	AttrCredits     = "Credits"
	AttrDebits      = "Debits"
	AttrExpenditure = "Expenditure"
	AttrCount       = "Count" // of a fold: the number of its postings
	// Of a fold with postings of holds; absent when zero.
	AttrHolds          = "Holds" // the number of these postings
	AttrPendingDebits  = "PendingDebits"
	AttrPendingCredits = "PendingCredits"
	AttrReturned       = "Returned"

	AttrAssets   = "Assets"   // of a summary: balances ever created
	AttrHoldings = "Holdings" // of a summary: balances that are not zero

	AttrHeader = "Header" // of an account's entry of a hold: the item of the hold's header
	AttrEnded  = "Ended"  // of such an entry: the item of the hold's end

	AttrHeld = "Held" // of an entry in a list of transactions: the transaction is a hold; else absent
	AttrVoid = "Void" // of such an entry, one of a hold, or a page of the journal: readers skip it; else absent

	AttrEntries     = "Entries"     // of a page of the journal: the list of its entries
	AttrEvent       = "Event"       // of an entry of such a page: what happened
	AttrAt          = "At"          // of such an entry: when, as events store times; of a cursor: of its newest event
	AttrTransaction = "Transaction" // of such an entry: the transaction's id

	AttrRole   = "Role"   // of a membership
	AttrNumber = "Number" // of a membership: the number of the grant that it shows; of a place in a group likewise

	AttrGrantedBy = "GrantedBy" // of a membership: the actor of the grant that it shows
	AttrGrantedAt = "GrantedAt" // of a membership: the time of that grant, as events store times
)

// StreamView is the view type of the table's stream. Old images are not needed, because events never change.
const StreamView = "NEW_IMAGE"

// The two indexes. DynamoDB reads them eventually consistent.
const (
	IndexHistory = "GSI1" // (PK, SK2): an account's postings over all assets, followed by the account's opening
	// IndexInverse is by (PK2, PK): assets, accounts, groups, holders of an asset, accounts and groups of a user, and
	// accounts of a group.
	IndexInverse = "GSI2"
)
