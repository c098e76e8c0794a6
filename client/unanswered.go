package client

import (
	"sync"
	"time"
)

// commandTimeout is how long after a send without an answer a command may still be carried out: a command makes its
// last attempt within 8 s (package ledger, commandTimeout), and the rest is for the way to it.
const commandTimeout = 10 * time.Second

// unanswered holds the writes without an answer that may still be carried out, by the path of what they make. It is
// safe for concurrent use.
type unanswered struct {
	mu sync.Mutex
	at map[string]time.Time // of the last attempt's end
}

// note adds a write that got no answer now.
func (u *unanswered) note(paths []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = make(map[string]time.Time)
	}
	for other, at := range u.at {
		if now.Sub(at) >= commandTimeout {
			delete(u.at, other)
		}
	}
	for _, path := range paths {
		u.at[path] = now
	}
}

// left returns for how long such a write to one of the paths may still be carried out, 0 when there is none.
func (u *unanswered) left(paths []string, now time.Time) (left time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, path := range paths {
		if at, ok := u.at[path]; ok {
			left = max(left, commandTimeout-now.Sub(at))
		}
	}
	return left
}
