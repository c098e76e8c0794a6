package pump

import "time"

// Settings are those of an event source mapping for a DynamoDB stream, and of the function behind it. Their limits are
// Lambda's (CreateEventSourceMapping), and not checked here.
//
// Three settings of Lambda are fixed, as the ledger's mapping has them: a failed batch is bisected, the function
// reports failed items, and each shard has one batch under way at a time. One is left out, the greatest age of a
// record: it is for functions that nobody watches for hours.
type Settings struct {
	// Filters are the patterns of FilterCriteria, as JSON text. A record that matches any of them is delivered.
	// Without a pattern, every record is.
	Filters []string
	// BatchSize is the most records of one invocation: 1 to 10,000.
	BatchSize int
	// Window is how long a batch that isn't full waits for more records: 0 to 300 s. With 0, an invocation gets the
	// records that are there.
	Window time.Duration
	// MaximumRetryAttempts is how often a failed batch is retried before it becomes a dead letter: 0 to 10,000.
	MaximumRetryAttempts int
	// Timeout of one invocation: more than 0.
	Timeout time.Duration
}
