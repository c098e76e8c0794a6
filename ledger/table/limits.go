package table

// Limits of DynamoDB (AWS, "Quotas in Amazon DynamoDB" and the API reference of each operation).
const (
	TransactionActions = 100       // TransactWriteItems and TransactGetItems
	TransactionBytes   = 4 << 20   // sum of the items' sizes, likewise
	ItemBytes          = 400 << 10 // attribute names counted
	BatchGetKeys       = 100       // BatchGetItem
	QueryPageBytes     = 1 << 20   // of what a query reads before it is filtered
	NumberDigits       = 38        // significant digits of a number
)
