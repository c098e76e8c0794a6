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

// Folder is a temporary folder for the command and other binaries that a package builds. Main creates and removes it.
var Folder string

// Main runs the tests of a package that uses the command or Folder. Its TestMain must call it.
func Main(m *testing.M) int {
	var err error
	if Folder, err = os.MkdirTemp("", "ledger-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(Folder)
	return m.Run()
}

// buildOnce builds the command. All packages build the same file in the user's cache, under a lock, so that only the
// first one links it. Each runs a copy, which stays when another version is built. The copy is made by cp: a child that
// another test starts meanwhile would keep a file open that this process writes, and an open file does not run.
var buildOnce = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "ledger", "test")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	shared, binary := filepath.Join(cache, "ledger"), filepath.Join(Folder, "ledger")
	if out, err := exec.Command("go", "build", "-o", shared, "ledger.example/cmd/ledger").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	if out, err := exec.Command("cp", shared, binary).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cp: %w: %s", err, out)
	}
	return binary, nil
})

// Binary returns the path of the command, in a package whose TestMain calls Main.
func Binary(t testing.TB) string {
	t.Helper()
	binary, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Process is a running command.
type Process struct {
	URL     string // where up, dynamodb or console listens
	command *exec.Cmd
	exited  chan struct{} // closed when the process has exited
	err     error         // of the process; set before exited is closed

	mu     sync.Mutex
	stderr strings.Builder
}

// Start starts the command, and returns when the command writes to standard error that it is ready. With up, dynamodb
// and console, URL is set. The command is killed when t ends.
func Start(t testing.TB, arguments ...string) *Process {
	t.Helper()
	l, err := Try(t, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Try is Start, but returns an error if the command exits before it is ready.
func Try(t testing.TB, arguments ...string) (*Process, error) {
	t.Helper()
	l := &Process{command: exec.Command(Binary(t), arguments...), exited: make(chan struct{})}
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
			l.stderr.WriteString(lines.Text() + "\n")
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
		return nil, fmt.Errorf("ledger %s ended before it was ready: %v: %s", arguments, l.err, l.Stderr())
	case <-time.After(2 * time.Minute):
		t.Fatalf("ledger %s was not ready in time: %s", arguments, l.Stderr())
	}
	if slices.Contains([]string{"up", "dynamodb", "console"}, arguments[0]) {
		l.URL = <-address
	}
	return l, nil
}

// PID returns the process id.
func (l *Process) PID() int { return l.command.Process.Pid }

// Store returns the endpoint of the DynamoDB on which up runs, according to its output.
func (l *Process) Store() string {
	_, rest, _ := strings.Cut(l.Stderr(), " in DynamoDB at ")
	endpoint, _, _ := strings.Cut(rest, ")")
	return endpoint
}

// Stderr returns everything that the process has written to standard error so far.
func (l *Process) Stderr() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stderr.String()
}

// Stop sends the process a signal, waits until it exits, and returns its exit status.
func (l *Process) Stop(t testing.TB, signal os.Signal) int {
	t.Helper()
	if err := l.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	return l.Wait(t)
}

// Wait waits until the process exits, and returns its exit status.
func (l *Process) Wait(t testing.TB) int {
	t.Helper()
	select {
	case <-l.exited:
	case <-time.After(time.Minute):
		t.Fatalf("did not exit: %s", l.Stderr())
	}
	return l.command.ProcessState.ExitCode()
}

// Kill kills the process with SIGKILL.
func (l *Process) Kill(t testing.TB) {
	t.Helper()
	if err := l.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-l.exited
}

// environment returns the environment of the command. A DynamoDB Local that it starts is tuned for a short run.
func environment() []string {
	return append(os.Environ(), "JAVA_TOOL_OPTIONS="+strings.Join(dynamolocal.ShortLived, " "))
}

// Run runs the command with LEDGER_URL until it exits, and returns its standard output, standard error and exit status.
func Run(t testing.TB, url string, arguments ...string) (stdout, stderr string, status int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), Binary(t), arguments...)
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

// Ports below the ephemeral ports (on Linux, from 32768). So no outgoing connection takes the port of a command before
// it is restarted.
const firstPort, lastPort = 20_000, 32_000

// FreePort returns a free port, for a command that is restarted on the same port.
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
