// Package dynamolocal downloads and runs DynamoDB Local, and creates the ledger's table in it, for developers'
// machines and tests.
//
// DynamoDB Local is a proprietary program of AWS and not part of the ledger. It is downloaded when it is first needed,
// checked against a checksum in this package, and kept in the user's cache directory. It needs Java 17 or newer. The
// table is created from template.yaml, like that of the deployed stack. Linux and macOS are supported.
package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds the start, which takes 1.3 s on an idle machine.
	readyTimeout = 60 * time.Second
	// readyPoll is how often waitReady sends a request to a starting server.
	readyPoll = 25 * time.Millisecond
	// stopTimeout bounds the wait for a server after SIGTERM.
	stopTimeout = 10 * time.Second
	// portAttempts bounds the ports that Start tries. Another process may take a free port first.
	portAttempts = 3
	// heap is the maximum heap of the JVM. DynamoDB Local stores its data outside the heap, in SQLite. With the
	// default, a quarter of the machine's memory, garbage would pile up.
	heap = "-Xmx512m"
)

// launcher starts the JVM so that it cannot outlive this process, on Linux and macOS. Descriptor 3 is the read end of a
// pipe. Only this process has the write end. A subshell reads the pipe until this process closes it or dies. It then
// sends SIGTERM to the JVM, which has replaced the shell, and after five seconds SIGKILL. The subshell is in the JVM's
// process group, whose id is the JVM's process id. The kernel therefore cannot reuse that id while the subshell runs.
// Descriptor 4, if any, is the lock of the data directory. Only the JVM keeps it open.
const launcher = `(while read -r _; do :; done
kill $$ || exit
for _ in 1 2 3 4 5; do sleep 1; kill -0 $$ || exit; done
kill -9 $$) <&3 4<&- >/dev/null 2>&1 & exec "$@" 3<&-`

// Options of DynamoDB Local.
type Options struct {
	// DataDir is the directory for the data, which is created if necessary. Empty: the data are in memory. Only one
	// server at a time can use a directory.
	DataDir string
	// JVM are additional options of java, such as ShortLived.
	JVM []string
	// Log logs the progress; nil: nothing is logged.
	Log *slog.Logger
}

// ShortLived are options for a JVM that runs for a minute or two, as in tests: one compiler and the smallest garbage
// collector. They halve the processor time of the first thousands of transactions. A JVM that runs longer is faster
// without them. Class data sharing would save another 0.6 s of each start, but Java cannot create an archive for
// DynamoDB Local, because its jar has its own directory on the class path.
var ShortLived = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}

// Server is a running DynamoDB Local. Its methods are safe for concurrent use.
//
// It listens on all interfaces, because DynamoDB Local has no option for an address, and does not check credentials:
// anybody who can reach the port can read and write. Keep it behind the machine's firewall.
type Server struct {
	// Endpoint is its URL, on the loopback interface.
	Endpoint string

	cmd    *exec.Cmd
	leash  *os.File // the write end of the launcher's pipe: closing it ends the JVM
	output *tail
	done   chan struct{}
	err    error // of the JVM's end; read after done
}

// Start starts DynamoDB Local and returns when it answers. It downloads it first if the cache does not have it. The
// server ends with Stop or with this process. Errors: ErrNoJava, ErrNoDownload, ErrDataInUse. They
// say what to do.
func Start(ctx context.Context, o Options) (*Server, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	dir, err := obtain(ctx, log, cache, sources())
	if err != nil {
		return nil, err
	}
	data, lock, err := openData(ctx, o.DataDir)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		defer lock.Close() // the JVM inherits it
	}
	args := slices.Concat(o.JVM, []string{
		heap, "-Djava.library.path=" + filepath.Join(dir, "DynamoDBLocal_lib"), "-jar", filepath.Join(dir, program),
		"-sharedDb", "-disableTelemetry",
	}, data)
	for attempt := 1; ; attempt++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := launch(java, slices.Concat(args, []string{"-port", strconv.Itoa(port)}), dir, port, lock)
		if err != nil {
			return nil, err
		}
		start := time.Now()
		if err = s.waitReady(ctx); err == nil {
			log.Info("DynamoDB Local runs", "endpoint", s.Endpoint, "pid", s.cmd.Process.Pid,
				"duration_ms", time.Since(start).Milliseconds())
			return s, nil
		}
		s.kill()
		if attempt == portAttempts || ctx.Err() != nil {
			return nil, fmt.Errorf("%w (%s, installed in %s)", err, java, dir)
		}
		log.Warn("DynamoDB Local did not start, trying another port", "port", port, "error", err)
	}
}

// freePort returns a free port.
func freePort() (int, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0, fmt.Errorf("port for DynamoDB Local: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts java and returns at once. The JVM inherits lock unless it is nil.
func launch(java string, args []string, dir string, port int, lock *os.File) (*Server, error) {
	held, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	s := &Server{
		Endpoint: "http://127.0.0.1:" + strconv.Itoa(port),
		leash:    leash,
		output:   &tail{},
		done:     make(chan struct{}),
	}
	s.cmd = exec.Command("/bin/sh", append([]string{"-c", launcher, "sh", java}, args...)...)
	s.cmd.Dir = dir
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.ExtraFiles = []*os.File{held}
	if lock != nil {
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, lock)
	}
	// In a separate process group it does not get the terminal's Ctrl-C, so that it can be stopped last.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		leash.Close()
		return nil, fmt.Errorf("start DynamoDB Local: %w", err)
	}
	go func() {
		s.err = s.cmd.Wait()
		s.leash.Close()
		close(s.done)
	}()
	return s, nil
}

// waitReady returns when the server answers HTTP. It returns an error if the server ends, or does not answer in time.
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return s.ended()
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local at %s does not answer: %w; it printed: %s", s.Endpoint, ctx.Err(),
				s.output)
		case <-tick.C:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		select {
		case <-s.done: // another process answers on this port
			return s.ended()
		default:
			return nil
		}
	}
}

// ended returns an error with the JVM's exit status and output. The JVM must have ended.
func (s *Server) ended() error {
	how := "exit status 0"
	if s.err != nil {
		how = s.err.Error()
	}
	return fmt.Errorf("DynamoDB Local ended (%s); it printed: %s", how, s.output)
}

// Done returns a channel that is closed when DynamoDB Local has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns nil while DynamoDB Local runs. Then it returns an error with its exit status and the end of its output.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.ended()
	default:
		return nil
	}
}

// Stop sends SIGTERM to DynamoDB Local and waits for its end. After ten seconds, or when ctx ends, it kills DynamoDB
// Local and returns an error. It may be called again.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.kill()
		return fmt.Errorf("stop DynamoDB Local: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.kill()
		return fmt.Errorf("DynamoDB Local did not stop and was killed: %w", ctx.Err())
	}
}

// kill kills the JVM and waits for its end.
func (s *Server) kill() {
	_ = s.cmd.Process.Kill() // it fails only if the process has ended
	<-s.done
}

// tailBytes is the length of a program's output in error messages.
const tailBytes = 4 << 10

// tail is an io.Writer that keeps the last tailBytes bytes. It is safe for concurrent use.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	t.end = t.end[max(len(t.end)-tailBytes, 0):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.end)); text != "" {
		return text
	}
	return "(nothing)"
}
