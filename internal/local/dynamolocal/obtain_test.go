package dynamolocal

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/internal/retry"
)

var silent = slog.New(slog.DiscardHandler)

// working returns a source that has the program, and counts its calls.
func working(name string, calls *atomic.Int32) source {
	return source{name, func(_ context.Context, scratch string) (string, error) {
		calls.Add(1)
		dir := filepath.Join(scratch, "program")
		return dir, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, program), []byte(name), 0o644))
	}}
}

func failing(name string, err error) source {
	return source{name, func(context.Context, string) (string, error) { return "", err }}
}

// Concurrent processes download DynamoDB Local once, from the first source that works. Later ones use the cache.
func TestObtain(t *testing.T) {
	cache := t.TempDir()
	var second, third atomic.Int32
	sources := []source{failing("first", errors.New("no network")), working("second", &second), working("third", &third)}
	var processes sync.WaitGroup
	for range 8 {
		processes.Go(func() {
			dir, err := obtain(t.Context(), silent, cache, sources)
			got, readErr := os.ReadFile(filepath.Join(dir, program))
			if err != nil || readErr != nil || string(got) != "second" {
				t.Errorf("the program is %q, %v, %v", got, err, readErr)
			}
		})
	}
	processes.Wait()
	if _, err := obtain(t.Context(), silent, cache, nil); err != nil {
		t.Error("from the cache:", err)
	}
	if second.Load() != 1 || third.Load() != 0 {
		t.Errorf("the second source was used %d times, the third %d times", second.Load(), third.Load())
	}
}

// The progress of a long download is logged.
func TestObtainLogsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := source{"slow", func(ctx context.Context, scratch string) (string, error) {
			err := os.WriteFile(filepath.Join(scratch, "archive"), make([]byte, 3<<20), 0o644)
			return "", errors.Join(err, retry.Sleep(ctx, progressInterval+time.Second), errors.New("not wanted"))
		}}
		var said strings.Builder
		if _, err := obtain(t.Context(), slog.New(slog.NewTextHandler(&said, nil)), t.TempDir(), []source{slow}); err == nil {
			t.Error("obtained")
		}
		if n := strings.Count(said.String(), "megabytes=3"); n != 1 {
			t.Errorf("the progress was logged %d times: %s", n, &said)
		}
	})
}

func TestObtainReplacesIncompleteInstallation(t *testing.T) {
	for name, file := range map[string]string{
		"the program alone": filepath.Join(cacheVersion, program),
		"the source alone":  filepath.Join(cacheVersion, sourceFile),
		"a killed process":  filepath.Join("obtaining-123", "program", program),
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			file := filepath.Join(cache, file)
			err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("half"), 0o644))
			if err != nil {
				t.Fatal(err)
			}
			var calls atomic.Int32
			dir, err := obtain(t.Context(), silent, cache, []source{working("way", &calls)})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, program)); string(got) != "way" {
				t.Errorf("the program is %q, %v", got, err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, scratchPattern)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestObtainReportsEveryFailure(t *testing.T) {
	cache := t.TempDir()
	_, err := obtain(t.Context(), silent, cache,
		[]source{failing("the archive", fs.ErrPermission), failing("the package", errors.New("npm is not installed"))})
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	for _, want := range []string{"the archive: permission denied", "the package: npm is not installed", "endpoint"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if isInstalled(filepath.Join(cache, cacheVersion)) {
		t.Error("an installation was left")
	}
}

func TestCacheDirCanBeMoved(t *testing.T) {
	t.Setenv(cacheDirEnv, "relative")
	dir, err := cacheDir()
	if err != nil || !filepath.IsAbs(dir) || !strings.HasSuffix(dir, filepath.Join("relative", "dynamodb-local")) {
		t.Errorf("cache %q, %v", dir, err)
	}
}

func TestDataDirectoryIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	options, lock, err := openData(t.Context(), dir)
	if err != nil || strings.Join(options, " ") != "-dbPath "+dir {
		t.Fatal(options, err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := openData(impatient, dir); !errors.Is(err, ErrDataInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second server: %v", err)
	}
	lock.Close()
	if _, lock, err = openData(t.Context(), dir); err != nil {
		t.Fatal("after the first has ended:", err)
	}
	lock.Close()
}
