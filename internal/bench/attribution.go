package bench

import (
	"bytes"
	"context"
	"runtime/pprof"
	"time"

	"github.com/google/pprof/profile"
)

// The processor time of this process is attributed to two parts. A goroutine belongs to the part of the goroutine that
// started it. What belongs to no part, mostly garbage collection, is divided in the same proportion as the rest.
const (
	partLabel      = "part"
	partLoad       = "load" // clients, API and checks
	partProjection = "projection"
)

// inPart runs f as a part of this process.
func inPart(ctx context.Context, part string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(partLabel, part), f)
}

// watchProjection begins to measure the projection. stop returns its processor time since then, with the store's work
// for it. That is 0 if there are no samples, or if this process is being profiled already.
func watchProjection() (stop func() (time.Duration, error), err error) {
	var samples bytes.Buffer
	isOn := pprof.StartCPUProfile(&samples) == nil
	began, _, err := used()
	return func() (time.Duration, error) {
		if !isOn {
			return 0, nil
		}
		pprof.StopCPUProfile()
		ended, _, err := used()
		if err != nil {
			return 0, err
		}
		share, err := projectionShare(&samples)
		return time.Duration(share * float64(ended-began)), err
	}, err
}

// projectionShare returns the projection's part of a CPU profile.
func projectionShare(samples *bytes.Buffer) (float64, error) {
	p, err := profile.Parse(samples)
	if err != nil {
		return 0, err
	}
	parts := make(map[string]int64)
	for _, s := range p.Sample {
		for _, part := range s.Label[partLabel] {
			parts[part] += s.Value[0]
		}
	}
	all := parts[partLoad] + parts[partProjection]
	return float64(parts[partProjection]) / float64(max(all, 1)), nil
}
