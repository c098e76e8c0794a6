package client

import (
	"maps"
	"sync"
	"time"
)

// commandTimeout is how long a write that got no answer may still be applied. A command makes its last attempt within
// 8 s (commandTimeout of package ledger). The rest allows for the network.
const commandTimeout = 10 * time.Second

// unanswered records the writes without an answer that may still be applied, by the paths of their resources. It is
// safe for concurrent use.
type unanswered struct {
	mu sync.Mutex
	at map[string]time.Time // when the last attempt failed
}

// add records that a write to the paths got no answer. It forgets writes that can no longer be applied.
func (u *unanswered) add(paths []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = make(map[string]time.Time)
	}
	maps.DeleteFunc(u.at, func(_ string, at time.Time) bool { return now.Sub(at) >= commandTimeout })
	for _, path := range paths {
		u.at[path] = now
	}
}

// remaining returns how long such a write to one of the paths may still be applied, 0 if there is none.
func (u *unanswered) remaining(paths []string, now time.Time) (remaining time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, path := range paths {
		if at, ok := u.at[path]; ok {
			remaining = max(remaining, commandTimeout-now.Sub(at))
		}
	}
	return remaining
}
