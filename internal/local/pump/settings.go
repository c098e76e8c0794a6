package pump

import "time"

// Settings are the settings of an event source mapping for a DynamoDB stream, and of its function. Their limits are
// Lambda's (CreateEventSourceMapping) and are not checked here.
//
// Some of Lambda's settings are fixed, as in the ledger's mapping: a failed batch is bisected, the function reports
// failed items, and each shard has one batch in flight. There is no maximum age of records.
type Settings struct {
	// Filters are the patterns of FilterCriteria, in JSON. A record is delivered if it matches any of them, or if there
	// are none.
	Filters []string
	// BatchSize is the maximum number of records of an invocation: 1 to 10,000.
	BatchSize int
	// Window is how long a batch that is not full waits for more records: 0 to 300 s. With 0, an invocation gets the
	// available records.
	Window time.Duration
	// MaximumRetryAttempts is how often a failed batch is retried before it becomes a dead letter: 0 to 10,000.
	MaximumRetryAttempts int
	// Timeout of one invocation: more than 0.
	Timeout time.Duration
}
