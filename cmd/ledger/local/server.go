package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds the start: DynamoDB Local is up in 1.3 s on an idle
	// machine.
	readyTimeout = 60 * time.Second
	// readyPoll is how often a starting server is asked whether it is up.
	readyPoll = 25 * time.Millisecond
	// stopTimeout is how long a server may take to end by itself.
	stopTimeout = 10 * time.Second
	// portPatience is how long to wait for a port that was asked for: a server
	// whose process was killed has it for a moment more.
	portPatience = 3 * time.Second
	// portAttempts is how often another free port is tried when somebody was
	// quicker to take the one that was found.
	portAttempts = 3
	// heap is the JVM's largest heap. DynamoDB Local holds its data outside
	// the heap, in SQLite; the default, a quarter of the machine's memory,
	// only lets garbage pile up.
	heap = "-Xmx512m"
)

// launcher starts the JVM so that it cannot outlive us, on Linux and macOS
// alike and however we end. Descriptor 3 is the reading end of a pipe that we
// alone hold the writing end of. A subshell waits for its end, which comes when
// we close it or die, and then ends the process that the shell has become, by
// force if it takes five seconds. The subshell is in the JVM's process group,
// whose id is the JVM's process id: while it waits, the kernel gives that id to
// nobody else. Descriptor 4, if there is one, is the lock of the data, which the
// JVM alone keeps.
const launcher = `(while read -r _; do :; done
kill $$ || exit
for _ in 1 2 3 4 5; do sleep 1; kill -0 $$ || exit; done
kill -9 $$) <&3 4<&- >/dev/null 2>&1 & exec "$@" 3<&-`

// Options say how to run DynamoDB Local.
type Options struct {
	// DataDir keeps the data, and is made if need be; empty keeps them in
	// memory. One server at a time may have it.
	DataDir string
	// Port to listen on; 0 takes a free one. The error for one in use is
	// syscall.EADDRINUSE, wrapped.
	Port int
	// Log tells about progress; nil tells nothing.
	Log *slog.Logger
}

// Server is a running DynamoDB Local. Its methods are safe for concurrent use.
//
// It listens on all interfaces: DynamoDB Local makes its Jetty server from a
// port alone, and neither an option of it nor a property of the JVM names an
// address. It asks for no credentials either, so whoever reaches the port can
// read and write. Keep it behind the machine's firewall.
type Server struct {
	// Endpoint is its URL, on the loopback interface.
	Endpoint string

	cmd    *exec.Cmd
	leash  *os.File // the JVM ends when this is closed
	output *tail
	done   chan struct{}
	err    error // of the JVM's end; read after done
}

// Start runs DynamoDB Local, obtaining it first if the cache has none, and
// returns when it answers. It runs until Stop, and ends when this process does.
// The error is a *JavaError or an *ObtainError where those tell the remedy.
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
	in, err := obtain(ctx, log, cache, ways())
	if err != nil {
		return nil, err
	}
	books, err := openData(ctx, o.DataDir)
	if err != nil {
		return nil, err
	}
	defer books.release()
	args := arguments(in, books)
	for attempt := 1; ; attempt++ {
		port, err := freePort(ctx, o.Port)
		if err != nil {
			return nil, err
		}
		s, err := launch(java, append(args, "-port", strconv.Itoa(port)), in.dir, port, books.lock)
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
		if o.Port != 0 || attempt == portAttempts || ctx.Err() != nil {
			return nil, fmt.Errorf("%w (%s, installed by %s in %s)", err, java, in.source, in.dir)
		}
		log.Warn("DynamoDB Local did not start, trying another port", "port", port, "error", err)
	}
}

// arguments of java, all but the port.
func arguments(in installation, d data) []string {
	args := append([]string{heap}, in.arguments()...)
	args = append(args, "-sharedDb", "-disableTelemetry")
	return append(args, d.arguments()...)
}

// freePort returns port if it can be listened on, waiting a while for somebody
// to leave it, and some free one for 0. Error: syscall.EADDRINUSE, wrapped.
func freePort(ctx context.Context, port int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, portPatience)
	defer cancel()
	for {
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port, nil
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			select {
			case <-time.After(lockPoll):
				continue
			case <-ctx.Done():
			}
		}
		return 0, fmt.Errorf("port for DynamoDB Local: %w", err)
	}
}

// launch starts java and returns at once. The JVM inherits lock, unless that is nil.
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
	// A group of its own: the terminal's Ctrl-C is for us, who stop DynamoDB
	// Local last.
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

// waitReady returns when the server answers HTTP, or with an error when it
// ended or took too long.
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
			return fmt.Errorf("DynamoDB Local did not answer at %s: %w; it printed: %s", s.Endpoint, context.Cause(ctx), s.output)
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
		case <-s.done: // somebody else answers on this port
			return s.ended()
		default:
			return nil
		}
	}
}

// ended tells how the JVM ended; it must have.
func (s *Server) ended() error {
	how := "exit status 0"
	if s.err != nil {
		how = s.err.Error()
	}
	return fmt.Errorf("DynamoDB Local ended (%s); it printed: %s", how, s.output)
}

// Done is closed when DynamoDB Local has ended, by Stop or by itself.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while DynamoDB Local runs; afterwards it tells how it ended and
// what it printed last, for the message about an end that nobody asked for.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.ended()
	default:
		return nil
	}
}

// Stop ends DynamoDB Local and returns when it is gone: it is asked to
// (SIGTERM), and killed if it takes longer than ten seconds or than ctx lasts,
// which is an error. Stopping what has ended is none.
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

// kill ends the JVM at once and waits until it is gone.
func (s *Server) kill() {
	_ = s.cmd.Process.Kill() // it fails only when the process is gone
	<-s.done
}
