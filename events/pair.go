package events

// Pair is an account and an asset. Each pair has its own balance, segments and spending guard.
type Pair struct{ Account, Asset string }

// Holding has the sums of an account's postings in one asset.
type Holding struct {
	Asset                         string
	Quantity                      Amount // posted
	PendingDebits, PendingCredits Amount // of open holds, not negative
	Spent                         Amount // ever debited or held; equals the guard's total when no command is in flight
	Count                         int64  // number of postings in these sums
}

// IsEmpty reports whether nothing is posted or pending.
func (h Holding) IsEmpty() bool {
	return h.Quantity.IsZero() && h.PendingDebits.IsZero() && h.PendingCredits.IsZero()
}
