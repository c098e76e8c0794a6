package simulation

import (
	"slices"
	"testing"
)

// shrinkRuns bounds how often a failing plan is tried again with less in it.
const shrinkRuns = 300

// shrink leaves out of a failing plan what it fails without: hazards, and requests in ever smaller groups. It returns
// the smallest plan found, and how that fails.
func shrink(t *testing.T, p Plan, err error) (Plan, error) {
	t.Helper()
	runs := 0
	fails := func(smaller Plan) bool {
		if runs++; runs > shrinkRuns {
			return false
		}
		_, smallerErr := play(t, smaller)
		if smallerErr != nil {
			p, err = smaller, smallerErr
		}
		return smallerErr != nil
	}
	for size := -1; size != p.size() && runs < shrinkRuns; {
		size = p.size()
		for group := len(p.Requests); group > 0; group /= 2 {
			for from := 0; from+group <= len(p.Requests); {
				smaller := p
				smaller.Requests = slices.Delete(slices.Clone(p.Requests), from, from+group)
				if !fails(smaller) {
					from += group
				}
			}
		}
		for _, h := range hazards {
			if p.has(h) {
				smaller := p
				smaller.Without = append(slices.Clone(p.Without), h)
				fails(smaller)
			}
		}
	}
	return p, err
}

// size is how much there is in a plan.
func (p Plan) size() int { return len(p.Requests) + len(hazards) - len(p.Without) }
