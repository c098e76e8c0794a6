package pump

import (
	"errors"
	"fmt"
	"time"
)

// Limits of an event source mapping for a stream (AWS Lambda API,
// CreateEventSourceMapping).
const (
	maxBatchSize     = 10_000
	maxWindow        = 300 * time.Second
	maxRetryAttempts = 10_000
	minRecordAge     = 60 * time.Second
	maxRecordAge     = 604_800 * time.Second
	maxParallel      = 10
	maxFilters       = 10 // 5 unless AWS raises it
)

// Settings are those of an event source mapping for a DynamoDB stream, and of
// the function behind it.
type Settings struct {
	// Filters are the patterns of FilterCriteria, as JSON text; a record that
	// matches any of them is delivered. None at all lets every record pass.
	Filters []string
	// BatchSize is how many records one invocation gets at most: 1 to 10,000.
	BatchSize int
	// Window is how long a batch that isn't full waits for more records: 0 to
	// 300 s. With 0 an invocation gets what is there.
	Window time.Duration
	// MaximumRetryAttempts is how often a failed batch is tried again before
	// it is set aside, 0 to 10,000; -1 has no end.
	MaximumRetryAttempts int
	// MaximumRecordAge is the age at which a record is set aside unsent, 60 s
	// to 7 days, counted from the beginning of the run at the earliest; 0 or
	// less has no end.
	MaximumRecordAge time.Duration
	// BisectBatchOnFunctionError halves a failed batch.
	BisectBatchOnFunctionError bool
	// ReportBatchItemFailures believes the handler's list of failed records.
	// Without it the answer of a handler that returns no error is ignored.
	ReportBatchItemFailures bool
	// ParallelizationFactor is how many batches of one shard are under way at
	// once, 1 to 10. Records of one item stay in order.
	ParallelizationFactor int
	// Timeout of the function: when its context ends. 0 sets none.
	Timeout time.Duration
}

// validate reports every setting that Lambda would refuse.
func (s Settings) validate() error {
	var errs []error
	check := func(ok bool, name string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %v is out of range", name, value))
		}
	}
	check(s.BatchSize >= 1 && s.BatchSize <= maxBatchSize, "BatchSize", s.BatchSize)
	check(s.Window >= 0 && s.Window <= maxWindow, "Window", s.Window)
	check(s.MaximumRetryAttempts >= -1 && s.MaximumRetryAttempts <= maxRetryAttempts, "MaximumRetryAttempts", s.MaximumRetryAttempts)
	check(s.MaximumRecordAge <= 0 || s.MaximumRecordAge >= minRecordAge && s.MaximumRecordAge <= maxRecordAge,
		"MaximumRecordAge", s.MaximumRecordAge)
	check(s.ParallelizationFactor >= 1 && s.ParallelizationFactor <= maxParallel, "ParallelizationFactor", s.ParallelizationFactor)
	check(s.Timeout >= 0, "Timeout", s.Timeout)
	check(len(s.Filters) <= maxFilters, "number of Filters", len(s.Filters))
	return errors.Join(errs...)
}
