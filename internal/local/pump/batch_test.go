package pump

import (
	"testing"
	"time"
)

func TestABatchWaitsForItsWindow(t *testing.T) {
	simulate(t, func(s *Settings) { s.Window = time.Second }, func(t *testing.T, r *rig) {
		r.start()
		advance(time.Minute)
		began := time.Now()
		for _, item := range items("a", 3) {
			r.put("A", item)
			advance(400 * time.Millisecond)
		}
		advance(time.Minute)
		r.want(t, items("a", 3))
		if after := r.times[0].Sub(began); after < time.Second || after > time.Second+2*maxPoll {
			t.Errorf("the batch came after %s, want the window", after)
		}
		began = time.Now()
		r.put("A", items("b", 5)...)
		advance(maxPoll) // a full batch does not wait for the window
		r.want(t, items("a", 3), items("b", 4))
		advance(time.Minute)
		if after := r.times[2].Sub(began); after < time.Second || after > time.Second+2*maxPoll {
			t.Errorf("the rest came after %s, want the window", after)
		}
		r.stop(t)
	})
}
