// Package process runs the ledger's command in a separate process, for tests.
package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ledger.example/internal/local/dynamolocal"
)

// Folder holds the command, and what else a package builds; Main makes and removes it.
var Folder string

// Main runs the tests of a package that uses the command, or the folder: for TestMain.
func Main(m *testing.M) int {
	var err error
	if Folder, err = os.MkdirTemp("", "ledger-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(Folder)
	return m.Run()
}

// built builds the command, once for the run.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(Folder, "ledger")
	if out, err := exec.Command("go", "build", "-o", binary, "ledger.example/cmd/ledger").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, nil
})

// Binary is the path of the command, in a package whose TestMain calls Main.
func Binary(t testing.TB) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Process is the command in a process of its own.
type Process struct {
	URL     string // of up, dynamodb or console, once it is ready
	command *exec.Cmd
	exited  chan struct{} // closed when the process has ended
	err     error         // of the process, once it has ended

	mu       sync.Mutex
	problems strings.Builder // its standard error
}

// Start starts the command and returns when it says on standard error that it is ready; with up, dynamodb and
// console, URL is set. It is killed at the end of t if it still runs.
func Start(t testing.TB, arguments ...string) *Process {
	t.Helper()
	return StartOf(t, Binary(t), arguments...)
}

// StartOf is Start of another build of the command.
func StartOf(t testing.TB, binary string, arguments ...string) *Process {
	t.Helper()
	l, err := try(t, binary, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Try is Start for a command that may end before it is ready, which is an error.
func Try(t testing.TB, arguments ...string) (*Process, error) {
	t.Helper()
	return try(t, Binary(t), arguments...)
}

func try(t testing.TB, binary string, arguments ...string) (*Process, error) {
	t.Helper()
	l := &Process{command: exec.Command(binary, arguments...), exited: make(chan struct{})}
	l.command.Dir, l.command.Env = t.TempDir(), environment()
	out, err := l.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := l.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	address := make(chan string, 1)
	var read sync.WaitGroup
	read.Go(func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		address <- strings.TrimSpace(line)
		io.Copy(io.Discard, out)
	})
	read.Go(func() {
		var once sync.Once
		for lines := bufio.NewScanner(problems); lines.Scan(); {
			l.mu.Lock()
			l.problems.WriteString(lines.Text() + "\n")
			l.mu.Unlock()
			if strings.Contains(lines.Text(), " is ready") {
				once.Do(func() { close(ready) })
			}
		}
	})
	go func() {
		read.Wait()
		l.err = l.command.Wait()
		close(l.exited)
	}()
	t.Cleanup(func() {
		l.command.Process.Kill()
		<-l.exited
	})
	select {
	case <-ready:
	case <-l.exited:
		return nil, fmt.Errorf("ledger %s ended before it was ready: %v: %s", arguments, l.err, l.Said())
	case <-time.After(2 * time.Minute):
		t.Fatalf("ledger %s was not ready in time: %s", arguments, l.Said())
	}
	if slices.Contains([]string{"up", "dynamodb", "console"}, arguments[0]) {
		l.URL = <-address
	}
	return l, nil
}

// PID is the process's.
func (l *Process) PID() int { return l.command.Process.Pid }

// Store is where the DynamoDB is that an up said it runs on.
func (l *Process) Store() string {
	_, rest, _ := strings.Cut(l.Said(), " in DynamoDB at ")
	endpoint, _, _ := strings.Cut(rest, ")")
	return endpoint
}

// Said is what the process wrote to standard error so far.
func (l *Process) Said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problems.String()
}

// Stop asks the process to end, and returns its exit status.
func (l *Process) Stop(t testing.TB, signal os.Signal) int {
	t.Helper()
	if err := l.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return l.Wait(t)
}

// Wait waits for the process to end by itself, and returns its exit status.
func (l *Process) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-l.exited:
	case <-time.After(time.Minute):
		t.Fatalf("did not end: %s", l.Said())
	}
	return l.command.ProcessState.ExitCode()
}

// Kill ends the process without warning.
func (l *Process) Kill(t testing.TB) {
	t.Helper()
	if err := l.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-l.exited
}

// environment is that of the command: a DynamoDB Local that it starts is tuned for a short life.
func environment() []string {
	return append(os.Environ(), "JAVA_TOOL_OPTIONS="+strings.Join(dynamolocal.ShortLived, " "))
}

// Run runs the command to its end against url, and returns its standard output, standard error and exit status.
func Run(t testing.TB, url string, arguments ...string) (out, problems string, status int) {
	t.Helper()
	return RunOf(t, Binary(t), url, arguments...)
}

// RunOf is Run of another build of the command.
func RunOf(t testing.TB, binary, url string, arguments ...string) (out, problems string, status int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, arguments...)
	command.Env = append(environment(), "LEDGER_URL="+url)
	command.Dir = t.TempDir()
	var o, p strings.Builder
	command.Stdout, command.Stderr = &o, &p
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), p.String(), command.ProcessState.ExitCode()
}

// Ports below those that systems give to outgoing connections (Linux: from 32768): what is started again finds its port
// free, however many connections were made meanwhile.
const firstPort, lastPort = 20_000, 32_000

// FreePort is a port that nobody listens on, so that what is started again can be found where it was.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort))
		if l, err := net.Listen("tcp", ":"+port); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
