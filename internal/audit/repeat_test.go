package audit

import (
	"context"
	"testing"
	"time"
)

// Whoever reports at the last look gets one, also if others report manyFindings meanwhile.
func TestEachRepetitionHasALastLook(t *testing.T) {
	a := New(Options{Pause: func(context.Context, time.Duration) error { return nil }})
	isLast := false
	a.repeat(t.Context(), func(round, last int) (done bool) {
		if isLast = round == last; round == manyFindingsRounds+1 {
			a.count(func(r *Report) { r.Counts.Findings = manyFindings })
		}
		return false
	})
	if !isLast {
		t.Error("the last call was not the last look")
	}
}
