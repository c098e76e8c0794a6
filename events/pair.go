package events

// Pair names one account's holding of one asset: what a balance, a segment and a spending guard are kept for.
type Pair struct{ Account, Asset string }

// Holding is what an account has of one asset, by its postings.
type Holding struct {
	Asset                         string
	Quantity                      Amount // posted
	PendingDebits, PendingCredits Amount // of open holds, not negative
	Spent                         Amount // ever debited or held: what the guard says once no command is under way
}

// IsEmpty reports whether nothing is posted or pending.
func (h Holding) IsEmpty() bool {
	return h.Quantity.IsZero() && h.PendingDebits.IsZero() && h.PendingCredits.IsZero()
}
