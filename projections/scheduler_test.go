package projections_test

import "math/rand/v2"

// scheduler runs actors, goroutines of which exactly one runs at any time: the one that holds the token. It gives the
// token back wherever something else may happen, and a seeded source decides who goes on: one seed, one history.
type scheduler struct {
	rng      *rand.Rand
	actors   []*actor
	current  *actor
	yielded  chan struct{}
	stopping bool // actors are to come to their end
}

type actor struct {
	resume chan struct{}
	weight int
	done   bool
}

func newScheduler(rng *rand.Rand) *scheduler {
	return &scheduler{rng: rng, yielded: make(chan struct{})}
}

// start adds an actor of a weight: how many lots it has when the token is drawn for.
func (s *scheduler) start(weight int, body func()) *actor {
	a := &actor{resume: make(chan struct{}), weight: weight}
	s.actors = append(s.actors, a)
	go func() {
		<-a.resume
		body()
		a.done = true
		s.yielded <- struct{}{}
	}()
	return a
}

// yield gives the token back until it is the caller's turn again. Any goroutine that works for the current actor may
// call it, one at a time.
func (s *scheduler) yield() {
	a := s.current
	s.yielded <- struct{}{}
	<-a.resume
}

// step lets one actor go on to its next yield.
func (s *scheduler) step() {
	lots := 0
	for _, a := range s.actors {
		lots += a.weight
	}
	drawn := s.rng.IntN(lots)
	for i, a := range s.actors {
		if drawn -= a.weight; drawn < 0 {
			s.resume(i)
			return
		}
	}
}

func (s *scheduler) resume(i int) {
	a := s.actors[i]
	s.current = a
	a.resume <- struct{}{}
	<-s.yielded
	if a.done {
		s.actors = append(s.actors[:i], s.actors[i+1:]...)
	}
}

// stop lets every actor come to its end.
func (s *scheduler) stop() {
	s.stopping = true
	for len(s.actors) > 0 {
		s.resume(len(s.actors) - 1)
	}
}
