package importer

import "sync"

// job is a line on its way.
type job struct {
	number int
	bytes  int64 // of the file, for the progress
	weight int64 // of the window
	command

	waits int    // earlier jobs that must finish first
	then  []*job // later jobs that wait for this one
	holds []key  // keys whose newest job this may still be
}

// key names what jobs wait for each other by.
type key struct{ what, id string }

// What a key is about. A definition is waited for by the jobs that use it. Jobs of one transaction id follow each other, so
// that the first in the file is the one that is posted; those that move one limited account do, so that it is spent from in
// the file's order.
const (
	ofAsset       = "asset"
	ofAccount     = "account"
	ofTransaction = "transaction"
	ofSpending    = "spending"
)

// schedule hands out jobs, each once all earlier ones that it waits for have finished. It remembers unfinished jobs only.
// Jobs are added by one goroutine; the rest is safe for concurrent use.
type schedule struct {
	ready chan *job // room for all jobs of a window: sending never blocks

	mu   sync.Mutex
	last map[key]*job // the newest unfinished job that holds a key
}

func newSchedule(window int64) *schedule {
	return &schedule{ready: make(chan *job, window), last: make(map[key]*job)}
}

// held tells whether an unfinished job holds the key.
func (s *schedule) held(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[k] != nil
}

// add puts j after the jobs that hold any of the given keys, and gives it those that it holds itself.
func (s *schedule) add(j *job, holds, waitsFor []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := make(map[*job]bool)
	for _, keys := range [][]key{holds, waitsFor} {
		for _, k := range keys {
			if earlier := s.last[k]; earlier != nil && earlier != j && !before[earlier] {
				before[earlier] = true
				earlier.then = append(earlier.then, j)
			}
		}
	}
	for _, k := range holds {
		s.last[k] = j
	}
	j.holds, j.waits = holds, len(before)
	if j.waits == 0 {
		s.ready <- j
	}
}

// finish lets go what waited for j.
func (s *schedule) finish(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range j.holds {
		if s.last[k] == j {
			delete(s.last, k)
		}
	}
	for _, later := range j.then {
		if later.waits--; later.waits == 0 {
			s.ready <- later
		}
	}
	j.then = nil
}
