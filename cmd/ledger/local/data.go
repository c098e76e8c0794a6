package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dataPatience is how long to wait for the data: a server whose process was
// killed keeps them for up to five seconds more.
const dataPatience = 8 * time.Second

// lockFile stands in a directory of data while a server has it.
const lockFile = "ledger.lock"

// ErrDataInUse says that another server has the directory of the data.
var ErrDataInUse = errors.New("the data are in use by another process")

// data is where a server keeps its data.
type data struct {
	dir  string   // absolute; "" for memory
	lock *os.File // locked by the kernel (flock) for as long as somebody has it open; nil for memory
}

// openData makes dir if need be, and locks it: two servers would write to the
// same files, and neither would notice. Errors: ErrDataInUse.
func openData(ctx context.Context, dir string) (data, error) {
	if dir == "" {
		return data{}, nil
	}
	// The JVM is started in another directory.
	dir, err := filepath.Abs(dir)
	if err != nil {
		return data{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return data{}, fmt.Errorf("directory for the data: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return data{}, fmt.Errorf("directory for the data: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dataPatience)
	defer cancel()
	switch err := flock(ctx, lock); {
	case err == nil:
		return data{dir, lock}, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		lock.Close()
		return data{}, fmt.Errorf("%w: end it first, or take another directory than %s", ErrDataInUse, dir)
	default:
		lock.Close()
		return data{}, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
}

// arguments tell the JVM where to keep the data.
func (d data) arguments() []string {
	if d.dir == "" {
		return []string{"-inMemory"}
	}
	return []string{"-dbPath", d.dir}
}

// release leaves the lock to those who inherited it.
func (d data) release() {
	if d.lock != nil {
		d.lock.Close()
	}
}
