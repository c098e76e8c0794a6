package bench

import (
	"time"

	"ledger.example/client"
	"ledger.example/internal/retry"
)

const (
	// probesMax bounds the postings that are watched at the same time, so that watching adds little load.
	probesMax = 4
	// probePoll is the interval between reads of a watched balance, and the resolution of a lag. A shorter interval
	// would keep DynamoDB Local busy.
	probePoll    = 40 * time.Millisecond
	probeTimeout = 30 * time.Second
)

// watch reads the balance of a posting, acknowledged at began, until the balance includes it. The time until then is
// the lag of the projection.
func (o *observer) watch(posting client.Posting, began time.Time) {
	isSeen := false
	for !isSeen && time.Since(began) <= probeTimeout && retry.Sleep(o.watching, probePoll) == nil {
		b, err := o.run.observe.Balance(o.watching, posting.Account, posting.Asset, false)
		isSeen = err == nil && b.Value.AsOf != nil && *b.Value.AsOf >= posting.ID
	}
	lag := time.Since(began)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open--
	switch {
	case isSeen:
		o.lags.add(lag)
	case o.watching.Err() == nil: // else it was interrupted
		o.unseen++
	}
}
