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
	// barEvery is how often the bar of a terminal is drawn, lineEvery how often a line is written elsewhere.
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress shows people how far a command is: as a bar on a terminal, else as a line every few seconds, which suits the
// log of a job. It writes to standard error, and nothing of it is data.
type progress struct {
	w      io.Writer
	status func(since time.Duration) (text string, done int64)
	bar    *progressbar.ProgressBar // nil where there is no terminal
	done   chan struct{}
	quit   sync.WaitGroup

	mu    sync.Mutex // one writer at a time
	began time.Time
}

// startProgress starts to show progress. total is the amount of work, -1 when it is not known. status returns, after so
// long a time, the progress in words and how much of total is done; it is called by one goroutine at a time.
func startProgress(w io.Writer, total int64, status func(since time.Duration) (text string, done int64)) *progress {
	p := &progress{w: w, status: status, done: make(chan struct{}), began: time.Now()}
	every := lineEvery
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
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

// watch carries out run and shows its progress meanwhile, as startProgress does.
func (env *environment) watch(
	total int64, status func(since time.Duration) (text string, done int64), run func() error,
) error {
	env.progress = startProgress(env.err, total, status)
	defer env.progress.stop()
	return run()
}

// say writes a message for people above the progress that watch shows.
func (env *environment) say(message string) { env.progress.say(message) }

// show writes the progress as it is now. It must not run at the same time as say, or their texts would mix.
func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, done := p.status(time.Since(p.began))
	if p.bar == nil {
		fmt.Fprintln(p.w, text)
		return
	}
	p.bar.Describe(text)
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to stop
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

// stop ends the progress and clears the bar.
func (p *progress) stop() {
	close(p.done)
	p.quit.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
