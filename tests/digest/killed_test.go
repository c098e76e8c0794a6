package digest

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/watch/digest"
	"ledger.example/tests/harness/full"
)

// killedDirectory is the variable that makes this binary run a digest. Its value is the directory.
const killedDirectory = "LEDGER_TEST_DIGEST"

// killedJournal is the journal of these runs. In the full run, it has a note in between.
func killedJournal() *largeTable {
	return &largeTable{pages: full.Count(1_000, 12_000) / pageEntries, requests: make(map[string]int)}
}

func (l *largeTable) config(dir string) digest.Config {
	return digest.Config{Table: l, Dir: dir, Now: l.now}
}

// runToBeKilled makes a digest. It writes a byte to the standard output after each request.
func runToBeKilled(dir string) error {
	journal := killedJournal()
	journal.asked = func() { _, _ = os.Stdout.Write([]byte{'.'}) }
	_, err := digest.Run(context.Background(), journal.config(dir))
	return err
}

// A run that is killed at whatever point, also several times, leaves a directory from which the next one ends with what
// a run without a kill has.
func TestKilledRuns(t *testing.T) {
	whole := &book{T: t, dir: t.TempDir()}
	whole.must(digest.NewKey(whole.dir, origin))
	journal, requests := killedJournal(), 0
	journal.asked = func() { requests++ }
	_, err := digest.Run(t.Context(), journal.config(whole.dir))
	whole.must(err)
	want := whole.files()
	if notes := len(want) - 3; notes != full.Count(1, 2) {
		t.Fatalf("%d notes", notes)
	}
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for round := range full.Count(4, 16) {
		b := &book{T: t, dir: t.TempDir()}
		for _, name := range []string{"key", "key.pub"} {
			b.must(os.WriteFile(filepath.Join(b.dir, name), []byte(want[name]), 0o600))
		}
		b.must(os.Mkdir(filepath.Join(b.dir, "notes"), 0o755))
		for range 1 + random.IntN(2) {
			// Every other kill is after the last request, when the note is written: as soon as its unfinished file is there,
			// or up to 3 ms after the request.
			at, late := 1+random.IntN(requests), time.Duration(random.IntN(4000))*time.Microsecond
			if round%2 == 0 {
				at = requests
			}
			wait := b.waitForUnfinished
			if round%4 > 0 {
				wait = func(ended <-chan struct{}) {
					select {
					case <-ended:
					case <-time.After(late * time.Duration(round%4) / 4):
					}
				}
			}
			if b.killedAt(at, wait) {
				killed++
			}
		}
		_, err := digest.Run(t.Context(), killedJournal().config(b.dir))
		b.must(err)
		if is := b.files(); !maps.Equal(is, want) {
			t.Fatalf("round %d: the directory has %q, want %q", round, slices.Sorted(maps.Keys(is)),
				slices.Sorted(maps.Keys(want)))
		}
	}
	if t.Logf("%d runs were killed", killed); killed < full.Count(2, 8) {
		t.Error("too few")
	}
}

// killedAt runs a digest in a process of its own, and kills it a while after a request. It reports whether the kill
// came before the end.
func (b *book) killedAt(request int, wait func(ended <-chan struct{})) bool {
	b.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), killedDirectory+"="+b.dir)
	var problems bytes.Buffer
	command.Stderr = &problems
	asked, err := command.StdoutPipe()
	b.must(err)
	b.must(command.Start())
	ended := make(chan struct{})
	_, _ = io.ReadFull(asked, make([]byte, request)) // fails if the process has ended
	go func() {
		_, _ = io.Copy(io.Discard, asked)
		close(ended)
	}()
	wait(ended)
	_ = command.Process.Kill()
	<-ended
	err = command.Wait()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		b.Fatalf("%v: %s", err, problems.String())
	}
	return err != nil
}

// waitForUnfinished waits until the unfinished file of a note is there, or the process has ended.
func (b *book) waitForUnfinished(ended <-chan struct{}) {
	for {
		unfinished, err := filepath.Glob(filepath.Join(b.dir, "new*"))
		if b.must(err); unfinished != nil {
			return
		}
		select {
		case <-ended:
			return
		default:
		}
	}
}
