package importer

import (
	"slices"
	"sync"

	"ledger.example/client"
)

const (
	// bodyBytes bounds the body of a command in a batch, and batchBytes the size at which no more commands are added,
	// so that a batch stays below the limit of the API, 1 MB.
	bodyBytes  = 64 << 10
	batchBytes = 512 << 10
)

// batchable has the kinds of commands that may be in a batch.
var batchable = map[client.Kind]bool{
	client.KindTransaction: true, client.KindTransfer: true, client.KindTrade: true, client.KindSplit: true,
	client.KindCapture: true, client.KindRelease: true, client.KindReversal: true,
}

// job is a line that was read and is not finished.
type job struct {
	number int
	bytes  int64 // in the file, for the progress
	weight int64 // in the window
	command

	waits   int // number of earlier jobs that must finish first
	waiters []waiter
	holds   []key
	isTaken bool // in a batch with the jobs that it waits for
}

// waiter is a later job that waits for another one. If they may be in one batch, the ledger executes them in the order
// of the batch.
type waiter struct {
	*job
	mayShare bool
}

// key identifies something for which jobs wait: a later job waits for the latest earlier one that holds the key.
type key struct{ what, id string }

// The kinds of keys. Jobs wait for the definitions of their assets and accounts. Jobs with the same transaction id run
// in the order of the file, so that the first one is posted, and the others end or reverse it. So do jobs with the same
// limited account, which is spent from in the order of the file, and jobs with the same account and effective time, so
// that its statements have their postings in the order of the file. Jobs that debit the same limited account and asset
// may be in one batch, because the ledger executes them in their order.
const (
	ofAsset       = "asset"
	ofAccount     = "account"
	ofTransaction = "transaction"
	ofSpending    = "spending"
	ofInstant     = "instant"
	ofGroup       = "group"
	ofMember      = "member"
)

// schedule returns each job when all jobs that it waits for have finished. It stores only unfinished jobs. Jobs must be
// added by one goroutine. All other methods are safe for concurrent use.
type schedule struct {
	// The jobs that are ready: those that may be in a batch, and the others. Each channel has room for all jobs of a
	// window, so that sending never blocks.
	batches, singles chan *job

	mu   sync.Mutex
	last map[key]*job // the latest unfinished job that holds a key
}

func newSchedule(window int64) *schedule {
	return &schedule{
		batches: make(chan *job, window), singles: make(chan *job, window), last: make(map[key]*job),
	}
}

// close makes take return nil. It may be called only after all jobs have finished.
func (s *schedule) close() {
	close(s.batches)
	close(s.singles)
}

// ready makes a job available to take.
func (s *schedule) ready(j *job) {
	if j.mayBatch() {
		s.batches <- j
		return
	}
	s.singles <- j
}

func (j *job) mayBatch() bool { return batchable[j.Kind] && len(j.Body) <= bodyBytes }

// take waits for a job. It prefers jobs that are sent singly, because they include the definitions for which others
// wait. It returns nil at the end.
func (s *schedule) take() *job {
	select {
	case j := <-s.singles:
		return j
	default:
	}
	select {
	case j := <-s.singles:
		return j
	case j := <-s.batches:
		return j
	}
}

// batch returns a job with others that may be in the same batch, at most the given number, and with at most as many
// postings as a batch may have: those that wait only for jobs before them in the batch, and those that are ready.
func (s *schedule) batch(first *job, most int) (jobs []*job) {
	jobs, bytes, postings := []*job{first}, len(first.Body), first.postings
	fits := func(j *job) bool { return postings+j.postings <= client.BatchPostingsMax }
	waits := make(map[*job]int) // for how many jobs of the batch a later one waits
	for n := 0; len(jobs) < most && bytes < batchBytes; n++ {
		if n == len(jobs) {
			select {
			case j := <-s.batches:
				if j == nil {
					return jobs
				}
				if !fits(j) {
					s.ready(j)
					return jobs
				}
				jobs, bytes, postings = append(jobs, j), bytes+len(j.Body), postings+j.postings
			default:
				return jobs
			}
		}
		s.mu.Lock()
		for _, w := range jobs[n].waiters {
			if !w.mayShare || !w.mayBatch() {
				continue
			}
			if waits[w.job]++; waits[w.job] == w.waits && len(jobs) < most && bytes < batchBytes && fits(w.job) {
				w.isTaken = true
				jobs, bytes, postings = append(jobs, w.job), bytes+len(w.Body), postings+w.postings
			}
		}
		s.mu.Unlock()
	}
	return jobs
}

// held reports whether an unfinished job holds the key.
func (s *schedule) held(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[k] != nil
}

// add adds a job. It waits for the latest jobs that hold one of its keys or of waitsFor.
func (s *schedule) add(j *job, holds, waitsFor []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	earlierJobs := make(map[*job]bool) // to whether the jobs share accounts only
	for _, keys := range [][]key{holds, waitsFor} {
		for _, k := range keys {
			if earlier := s.last[k]; earlier != nil && earlier != j {
				accountsOnly, isKnown := earlierJobs[earlier]
				earlierJobs[earlier] = k.what == ofSpending && (accountsOnly || !isKnown)
			}
		}
	}
	for _, k := range holds {
		s.last[k] = j
	}
	j.holds, j.waits, j.isTaken = holds, len(earlierJobs), false
	for earlier, accountsOnly := range earlierJobs {
		earlier.waiters = append(earlier.waiters, waiter{j, accountsOnly && j.debitsLike(earlier)})
	}
	if j.waits == 0 {
		s.ready(j)
	}
}

// debitsLike reports whether both jobs debit the same asset of a limited account.
func (j *job) debitsLike(other *job) bool {
	return slices.ContainsFunc(j.debits, func(p pair) bool {
		limited := key{ofSpending, p.account}
		return slices.Contains(other.debits, p) && slices.Contains(j.holds, limited) &&
			slices.Contains(other.holds, limited)
	})
}

// finish makes the jobs ready that waited only for j.
func (s *schedule) finish(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range j.holds {
		if s.last[k] == j {
			delete(s.last, k)
		}
	}
	for _, later := range j.waiters {
		if later.waits--; later.waits == 0 && !later.isTaken {
			s.ready(later.job)
		}
	}
	j.waiters = nil
}
