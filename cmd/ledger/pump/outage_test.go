package pump

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// said keeps what is logged.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// take returns what was logged since it was asked last.
func (s *said) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	return text
}

// An outage is told of at once, now and then while it lasts, and when it is over: not by every request that fails in it.
func TestAnOutageIsToldOfNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.shard("A", "")
		s.shard("B", "")
		s.put("A", "a1")
		r := newRig(t, s, settings())
		var log said
		r.pump.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		r.start()
		let(time.Second)
		if told := log.take(); told != "" {
			t.Errorf("without an outage: %s", told)
		}
		s.change(func() { s.fault = func(string, string) error { return errors.New("connection refused") } })
		let(time.Second)
		if told := log.take(); strings.Count(told, "\n") != 1 || !strings.Contains(told, "connection refused") {
			t.Errorf("after a second: %s", told)
		}
		let(10 * time.Minute)
		if n := strings.Count(log.take(), "\n"); n < 30 || n > 40 {
			t.Errorf("%d lines in ten minutes", n)
		}
		s.change(func() { s.fault = nil })
		s.put("A", "a2")
		let(time.Minute)
		if told := log.take(); strings.Count(told, "\n") != 1 || !strings.Contains(told, "read again") {
			t.Errorf("after it: %s", told)
		}
		r.stop(t)
		r.want(t, []string{"a1"}, []string{"a2"})
	})
}
