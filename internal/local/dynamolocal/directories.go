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
	// cacheVersion is the name of the installation directory in the cache: the supported major version.
	cacheVersion = "3.x"
	// cacheDirEnv overrides the directory of the cache.
	cacheDirEnv = "LEDGER_CACHE_DIR"
	// sourceFile marks a complete installation. It has the name of its source.
	sourceFile = "ledger-source.txt"
	// dataTimeout bounds the wait for the lock of the data directory. After its parent was killed, a server holds the
	// lock for up to five seconds.
	dataTimeout = 8 * time.Second
	// lockPoll is how often a waiting process retries to take a lock.
	lockPoll = 100 * time.Millisecond
)

// ErrDataInUse means that another server uses the data directory.
var ErrDataInUse = errors.New("the data directory is in use by another process")

// cacheDir returns the cache directory for DynamoDB Local. It is absolute, because the JVM runs in another directory.
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

// lockCache waits for the exclusive lock of the cache.
func lockCache(ctx context.Context, dir string) (unlock func(), err error) {
	lock, err := lockDir(ctx, dir, "lock")
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("another process is downloading DynamoDB Local (%w): %w", err, ctx.Err())
	}
	return func() { lock.Close() }, err
}

// openData creates the data directory if necessary, and locks it, because two servers would write to the same files. It
// returns DynamoDB Local's options for the directory, and the lock, which is nil for data in memory. Errors:
// ErrDataInUse.
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
		err = fmt.Errorf("%w: stop that process, or use a directory other than %s", ErrDataInUse, dir)
	}
	return []string{"-dbPath", dir}, lock, err
}

// errLocked means that another process held the lock until the context ended.
var errLocked = errors.New("locked")

// lockDir creates a directory if necessary, and locks a file in it with flock. The kernel releases the lock when all
// processes that have the file open close it or end. Errors: errLocked.
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
