package durable

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file is replaced as a whole. A device or a pipe is never replaced by a file, which would break it for all programs.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	for _, text := range []string{"a long text", "short"} {
		if err := WriteFile(path, path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{pipe, dir} {
		err := WriteFile(other, filepath.Join(dir, "new"), []byte("text"), 0o600)
		if info, e := os.Stat(other); !errors.Is(err, ErrNoFile) || e != nil || info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", other, err, e)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("%q", names)
	}
}

// While a process writes a file, no other one does.
func TestInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := Create(path, path+".new", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, path+".new", nil, 0o600); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, path+".new", nil, 0o600); err != nil {
		t.Error(err)
	}
}
