package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// cacheVersion names the directory in the cache: the major version of
// DynamoDB Local that this package knows how to run.
const cacheVersion = "3.x"

// cacheDirEnv overrides the directory that everything is cached in.
const cacheDirEnv = "LEDGER_CACHE_DIR"

// sourceFile stands in a complete installation and says which way it came. It
// is written last, so a directory without it is half done.
const sourceFile = "ledger-source.txt"

// lockPoll is how often a process looks again whether another one has finished
// obtaining.
const lockPoll = 100 * time.Millisecond

// cacheDir is where installations of DynamoDB Local are kept.
func cacheDir() (string, error) {
	base := os.Getenv(cacheDirEnv)
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory for DynamoDB Local, set %s: %w", cacheDirEnv, err)
		}
		base = filepath.Join(user, "ledger")
	}
	// The JVM is started in the installation's directory: relative paths
	// would point elsewhere.
	base, err := filepath.Abs(base)
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "dynamodb-local"), nil
}

// lockCache waits until this process alone may change dir, which it makes if
// need be. The lock is the kernel's (flock), so a process that dies gives it
// back.
func lockCache(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, f); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process is obtaining DynamoDB Local (lock %s): %w", f.Name(), ctx.Err())
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// flock waits for the kernel's lock on f. Error: syscall.EWOULDBLOCK when ctx ends and
// somebody else still has it.
func flock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return syscall.EWOULDBLOCK
		case <-time.After(lockPoll):
		}
	}
}

// openInstallation reads the installation in dir. The error is fs.ErrNotExist
// when there is none, and also when one was left half done.
func openInstallation(dir string) (installation, error) {
	source, err := os.ReadFile(filepath.Join(dir, sourceFile))
	if err != nil {
		return installation{}, err
	}
	in := installation{dir: dir, source: string(source)}
	if in.jar() == "" && in.libraries() == "" {
		return installation{}, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	return in, nil
}

// publish makes the files in staged the installation at dir, at once: another
// process sees all of it or nothing. Whatever stood at dir goes.
func publish(staged, dir, source string) (installation, error) {
	if err := os.WriteFile(filepath.Join(staged, sourceFile), []byte(source), 0o644); err != nil {
		return installation{}, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return installation{}, err
	}
	if err := os.Rename(staged, dir); err != nil {
		return installation{}, err
	}
	return openInstallation(dir)
}
