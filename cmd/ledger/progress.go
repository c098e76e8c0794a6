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

// progress tells people how far a command is: by a bar on a terminal, else by a line every few seconds.
type progress struct {
	w    io.Writer
	look func(since time.Duration) (text string, done int64)
	bar  *progressbar.ProgressBar // nil where there is no terminal
	done chan struct{}
	quit sync.WaitGroup

	mu    sync.Mutex // one writer at a time
	began time.Time
}

// startProgress begins to tell. total is the whole of the work, -1 when it isn't known; look tells in words how far it is after
// so long a time, and how much of total that is. It is called by one goroutine at a time.
func startProgress(w io.Writer, total int64, look func(since time.Duration) (text string, done int64)) *progress {
	p := &progress{w: w, look: look, done: make(chan struct{}), began: time.Now()}
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

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, done := p.look(time.Since(p.began))
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
