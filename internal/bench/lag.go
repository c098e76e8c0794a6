package bench

import (
	"encoding/json"
	"math/rand/v2"
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

// offer takes the answer to a transaction that was just acknowledged. If fewer than probesMax postings are watched, it
// starts to watch one posting of the transaction. The time until an eventual read of the balance includes the posting
// is the lag of the projection.
func (o *observer) offer(answer []byte) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.run.Projected || o.open == probesMax {
		return
	}
	var t client.Transaction
	if err := json.Unmarshal(answer, &t); err != nil || len(t.Postings) == 0 {
		o.unseen++
		return
	}
	o.open++
	o.watched.Go(func() { o.watch(t.Postings[rand.IntN(len(t.Postings))], now) })
}

// watch reads a posting's balance until it includes the posting.
func (o *observer) watch(posting client.Posting, began time.Time) {
	isSeen := false
	for !isSeen && time.Since(began) <= probeTimeout && retry.Sleep(o.watching, probePoll) == nil {
		b, err := o.run.balanceOf(o.watching, posting.Account, posting.Asset, false)
		isSeen = err == nil && b.Value.AsOf != nil && *b.Value.AsOf >= posting.ID
	}
	lag := time.Since(began)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open--
	switch {
	case isSeen:
		o.lags = append(o.lags, lag)
	case o.watching.Err() == nil: // else it was interrupted
		o.unseen++
	}
}
