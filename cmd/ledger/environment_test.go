package main

import (
	"bytes"
	"log/slog"
	"regexp"
	"testing"
)

// On a terminal, a log line has the time of day, the level, the message and the values. Elsewhere it is JSON.
func TestLog(t *testing.T) {
	var lines bytes.Buffer
	for want, log := range map[string]*slog.Logger{
		`^time=\d\d:\d\d:\d\d level=WARN msg="a record failed" shard=s-1\n$`: slog.New(linesForPeople(&lines, slog.LevelWarn)),
		`^{"time":".*","level":"WARN","msg":"a record failed","shard":"s-1"}\n$`: (&environment{err: &lines}).logger(
			slog.LevelWarn),
	} {
		lines.Reset()
		log.Info("nothing")
		log.Warn("a record failed", "shard", "s-1")
		if !regexp.MustCompile(want).Match(lines.Bytes()) {
			t.Errorf("%q, want %s", &lines, want)
		}
	}
}
