package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	// barEvery is how often the bar is drawn on a terminal. lineEvery is how often a line is written elsewhere.
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress shows the progress of a command on standard error: as a bar on a terminal, else as a line every few seconds.
type progress struct {
	w      io.Writer
	status func(since time.Duration) (text string, done int64)
	bar    *progressbar.ProgressBar // nil without a terminal
	done   chan struct{}
	quit   sync.WaitGroup

	mu    sync.Mutex // one writer at a time
	began time.Time
}

// startProgress starts to show progress. total is the amount of work, or -1 if it is unknown. status returns the
// progress as text, and the amount of work that is done. since is the time since the start. Calls of status never
// overlap.
func startProgress(w io.Writer, total int64, status func(since time.Duration) (text string, done int64)) *progress {
	p := &progress{w: w, status: status, done: make(chan struct{}), began: time.Now()}
	every := lineEvery
	if isTerminal(w) {
		every = barEvery
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(30),
			progressbar.OptionSetPredictTime(total > 0),
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

// watch calls run and shows its progress. See startProgress for total and status.
func (env *environment) watch(
	total int64, status func(since time.Duration) (text string, done int64), run func() error,
) error {
	env.progress = startProgress(env.err, total, status)
	defer env.progress.stop()
	return run()
}

// say writes a message above the progress. It may only be called during watch.
func (env *environment) say(message string) { env.progress.say(message) }

// show writes the current progress.
func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, done := p.status(time.Since(p.began))
	if p.bar == nil {
		fmt.Fprintln(p.w, text)
		return
	}
	p.bar.Describe(text)
	_ = p.bar.Set64(done) // the command continues without a bar
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

func (p *progress) stop() {
	close(p.done)
	p.quit.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
