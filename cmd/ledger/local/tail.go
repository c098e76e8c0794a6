package local

import (
	"strings"
	"sync"
)

// tailBytes is how much of a program's output is kept for an error message.
const tailBytes = 4 << 10

// tail is an io.Writer that keeps the end of what was written to it. It is
// safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if over := len(t.end) - tailBytes; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.end)); text != "" {
		return text
	}
	return "(nothing)"
}
