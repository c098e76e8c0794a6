package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// orphanEnv makes the test binary launch a child like DynamoDB Local, print the child's process id, and wait until it
// is killed.
const orphanEnv = "LEDGER_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphanEnv) != "" {
		s, err := launch("/bin/sleep", []string{"600"}, os.TempDir(), 1, nil)
		if err != nil {
			panic(err)
		}
		fmt.Println(s.cmd.Process.Pid)
		select {}
	}
	os.Exit(m.Run())
}

func TestChildEndsWhenItsParentIsKilled(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Fscan(out, &child); err != nil {
		t.Fatal(err)
	}
	if !running(child) {
		t.Fatal("the child does not run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	eventually(t, "the child ends", func() bool { return !running(child) })
}

// running reports whether a process runs. A zombie does not.
func running(pid int) bool {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", fmt.Sprint(pid)).Output()
	state := strings.TrimSpace(string(out))
	return state != "" && !strings.HasPrefix(state, "Z")
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 10 s: %s", what)
		}
	}
}

func TestStopSendsSIGTERM(t *testing.T) {
	s := script(t, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done")
	eventually(t, "it is up", func() bool { return s.output.String() == "up" })
	if s.Err() != nil {
		t.Errorf("it runs, and Err is %v", s.Err())
	}
	if group, err := syscall.Getpgid(s.cmd.Process.Pid); err != nil || group != s.cmd.Process.Pid {
		t.Errorf("it is in process group %d, %v: a Ctrl-C for us would end it", group, err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "bye") {
		t.Errorf("it ended with %v, want its last output", err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
	// The launcher's subshell must end, too: no process of the group is left.
	eventually(t, "its group is empty", func() bool {
		return errors.Is(syscall.Kill(-s.cmd.Process.Pid, 0), syscall.ESRCH)
	})
}

func TestStopKillsAfterTimeout(t *testing.T) {
	s := script(t, "trap '' TERM; echo up; while :; do sleep 0.01; done")
	eventually(t, "it is up", func() bool { return s.output.String() == "up" })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	select {
	case <-s.Done():
	default:
		t.Error("it still runs")
	}
}

func TestWaitReadyReportsOutput(t *testing.T) {
	s := script(t, "echo cannot bind >&2; exit 3")
	err := s.waitReady(context.Background())
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("error %v", err)
	}
}

// script launches a shell script instead of DynamoDB Local.
func script(t *testing.T, text string) *Server {
	t.Helper()
	s, err := launch("/bin/sh", []string{"-c", text}, t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	return s
}
