package table

import "time"

// Limits of DynamoDB (AWS, "Quotas in Amazon DynamoDB" and the API reference of each operation).
const (
	TransactionActions = 100       // TransactWriteItems and TransactGetItems
	TransactionBytes   = 4 << 20   // sum of the items' sizes, likewise
	ItemBytes          = 400 << 10 // including attribute names
	BatchGetKeys       = 100       // BatchGetItem
	QueryPageBytes     = 1 << 20   // read by a query, before filters
	NumberDigits       = 38        // significant digits of a number
	IndexKeyBytes      = 1 << 10   // of a PK: it is the sort key of IndexInverse, even of items that are not in it
)

// VersionMax is the greatest version of a projection. Versions count writes, from 1 or from the milliseconds since
// 1970, which reach VersionMax in the year 33658. The ledger never writes a greater one, which could overflow.
const VersionMax = 1_000_000_000_000_000

// SettleWindow is the age at which a posting counts as settled. The write side and the read side rely on it: it is
// longer than a command may take (8 s in package ledger), so that no command can still commit a posting of that age.
const SettleWindow = 10 * time.Second

// ClockTolerance is how far the clock of a process that mints KSUIDs may differ from the store's.
const ClockTolerance = SettleWindow / 2
