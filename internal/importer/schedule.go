package importer

import (
	"sync"

	"ledger.example/client"
)

const (
	// togetherBytes bounds the body of a command that is sent with others, and batchBytes what is taken together
	// before the last one: a batch stays below the 1 MB that the API takes.
	togetherBytes = 64 << 10
	batchBytes    = 512 << 10
)

// postable are the kinds of commands that may be sent together.
var postable = map[client.Kind]bool{client.KindTransaction: true, client.KindTransfer: true, client.KindTrade: true}

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

// What a key is about. A definition is waited for by the jobs that use it. Jobs of one transaction id follow each
// other, so that the first in the file is the one that is posted; those that move one limited account do, so that it is
// spent from in the file's order.
const (
	ofAsset       = "asset"
	ofAccount     = "account"
	ofTransaction = "transaction"
	ofSpending    = "spending"
)

// schedule hands out jobs, each once all earlier ones that it waits for have finished. It keeps unfinished jobs only.
// Jobs are added by one goroutine; the rest is safe for concurrent use.
type schedule struct {
	// The jobs that wait for nothing: those that may be sent together, and the others. Each has room for all jobs of a
	// window: sending never blocks.
	together, alone chan *job

	mu   sync.Mutex
	last map[key]*job // the newest unfinished job that holds a key
}

func newSchedule(window int64) *schedule {
	return &schedule{
		together: make(chan *job, window), alone: make(chan *job, window), last: make(map[key]*job),
	}
}

// close ends take, once all jobs have finished.
func (s *schedule) close() {
	close(s.together)
	close(s.alone)
}

// hand makes a job one that take returns.
func (s *schedule) hand(j *job) {
	if j.mayBeSentTogether() {
		s.together <- j
		return
	}
	s.alone <- j
}

func (j *job) mayBeSentTogether() bool { return postable[j.Kind] && len(j.Body) <= togetherBytes }

// take waits for a job. Those that are sent alone come first: definitions let more be sent together. It returns nil at
// the end.
func (s *schedule) take() *job {
	select {
	case j := <-s.alone:
		return j
	default:
	}
	select {
	case j := <-s.alone:
		return j
	case j := <-s.together:
		return j
	}
}

// more returns a job with others that may be sent together with it, at most so many: none of them waits for anything.
func (s *schedule) more(first *job, most int) (jobs []*job) {
	jobs = append(jobs, first)
	for bytes := len(first.Body); len(jobs) < most && bytes < batchBytes; bytes += len(jobs[len(jobs)-1].Body) {
		select {
		case j := <-s.together:
			if j == nil {
				return jobs
			}
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

// held reports whether an unfinished job holds the key.
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
		s.hand(j)
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
			s.hand(later)
		}
	}
	j.then = nil
}
