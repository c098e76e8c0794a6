package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"ledger.example/cmd/ledger/importer"
)

const (
	// barEvery is how often the bar of a terminal is drawn, lineEvery how often a line is written elsewhere.
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
	// silenceTold is how long the ledger may be silent before the progress says so.
	silenceTold = 5 * time.Second
)

// measured is what a progress watches; *importer.Import is.
type measured interface {
	Counts() importer.Counts
	Silent() time.Duration
}

// progress tells people how far an import is: by a bar on a terminal, else by a line every few seconds.
type progress struct {
	w    io.Writer
	run  measured
	bar  *progressbar.ProgressBar // nil where there is no terminal
	done chan struct{}
	quit sync.WaitGroup

	mu    sync.Mutex // one writer at a time
	began time.Time
}

// startProgress begins to tell. size is that of the file in bytes, -1 when it isn't known.
func startProgress(w io.Writer, size int64, run measured) *progress {
	p := &progress{w: w, run: run, done: make(chan struct{}), began: time.Now()}
	every := lineEvery
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		every = barEvery
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(30),
			progressbar.OptionSetPredictTime(size > 0),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.quit.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-p.done:
				return
			case <-tick.C:
				p.show()
			}
		}
	})
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.run.Counts()
	text := fmt.Sprintf("%d lines (%.0f/s), %d failed", n.Lines(), float64(n.Lines())/time.Since(p.began).Seconds(), n.Failed)
	if silent := p.run.Silent(); silent >= silenceTold {
		text += fmt.Sprintf(", no answer for %s", silent.Round(time.Second))
	}
	if p.bar == nil {
		fmt.Fprintln(p.w, text)
		return
	}
	p.bar.Describe(text)
	_ = p.bar.Set64(n.Bytes) // a bar that cannot be drawn is no reason to stop
}

// say writes a message above the bar.
func (p *progress) say(message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.w, message)
}

// stop ends the telling and clears the bar.
func (p *progress) stop() {
	close(p.done)
	p.quit.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
