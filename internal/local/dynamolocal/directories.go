package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ledger.example/internal/retry"
)

const (
	// cacheVersion is the directory in the cache: the major version of DynamoDB Local that this package can run.
	cacheVersion = "3.x"
	// cacheDirEnv overrides the directory of the cache.
	cacheDirEnv = "LEDGER_CACHE_DIR"
	// sourceFile is in a complete installation, and says in which way it was obtained.
	sourceFile = "ledger-source.txt"
	// dataTimeout is how long to wait for the data: a server whose process was killed has them for up to five
	// seconds more.
	dataTimeout = 8 * time.Second
	// lockPoll is how often a process that waits for a lock tries again.
	lockPoll = 100 * time.Millisecond
)

// ErrDataInUse means that another server has the directory of the data.
var ErrDataInUse = errors.New("the data are in use by another process")

// cacheDir is where DynamoDB Local is installed. It is absolute, as the JVM runs in another directory.
func cacheDir() (string, error) {
	base := os.Getenv(cacheDirEnv)
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no cache directory for DynamoDB Local, set %s: %w", cacheDirEnv, err)
		}
		base = filepath.Join(user, "ledger")
	}
	return filepath.Abs(filepath.Join(base, "dynamodb-local"))
}

// lockCache waits until this process alone may change the cache.
func lockCache(ctx context.Context, dir string) (unlock func(), err error) {
	lock, err := lockDir(ctx, dir, "lock")
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("another process is obtaining DynamoDB Local (%w): %w", err, ctx.Err())
	}
	return func() { lock.Close() }, err
}

// openData makes the directory of the data if need be, and locks it: two servers would write to the same files
// unnoticed. It returns the options that tell DynamoDB Local where to keep the data, and the lock, which is nil for
// data in memory. Errors: ErrDataInUse.
func openData(ctx context.Context, dir string) (options []string, lock *os.File, err error) {
	if dir == "" {
		return []string{"-inMemory"}, nil, nil
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dataTimeout)
	defer cancel()
	lock, err = lockDir(ctx, dir, "ledger.lock")
	if errors.Is(err, errLocked) {
		err = fmt.Errorf("%w: end it first, or take another directory than %s", ErrDataInUse, dir)
	}
	return []string{"-dbPath", dir}, lock, err
}

// errLocked means that another process still had the lock when the context ended.
var errLocked = errors.New("locked")

// lockDir makes a directory if need be, and locks a file in it. The lock is the kernel's (flock): it is held for as
// long as a process has the file open, so one that dies releases it. Errors: errLocked.
func lockDir(ctx context.Context, dir, name string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return f, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		if retry.Sleep(ctx, lockPoll) != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", f.Name(), errLocked)
		}
	}
}
