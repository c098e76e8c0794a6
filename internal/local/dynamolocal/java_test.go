package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeJava creates a java in dir/bin that prints a version, or fails if version is "". It returns dir.
func fakeJava(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho 'openjdk version \"%s\"' >&2\n", version)
	if version == "" {
		script = "#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n"
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "java"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFindJava(t *testing.T) {
	java8, java11, java17 := fakeJava(t, "1.8.0_392"), fakeJava(t, "11.0.2"), fakeJava(t, "17.0.1")
	java21, java26 := fakeJava(t, "21"), fakeJava(t, "26-ea")
	stub := fakeJava(t, "")
	none := t.TempDir()
	tests := map[string]struct {
		home, path string
		want       string   // directory of the java that is found
		says       []string // parts of the error
	}{
		"JAVA_HOME before PATH":      {home: java17, path: java21, want: java17},
		"PATH alone":                 {path: java21, want: java21},
		"early access":               {path: java26, want: java26},
		"1.8 is 8":                   {path: java8, says: []string{"is Java 8"}},
		"old in JAVA_HOME, new PATH": {home: java11, path: java17, want: java17},
		"old in both":                {home: java11, path: java11, says: []string{"is Java 11", "needs Java 17"}},
		"a stub":                     {path: stub, says: []string{"Unable to locate a Java Runtime"}},
		"none":                       {path: none, says: []string{"JAVA_HOME: not set", "PATH: ", "apt-get install"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("JAVA_HOME", tt.home)
			t.Setenv("PATH", filepath.Join(tt.path, "bin"))
			got, err := findJava(context.Background())
			if tt.want != "" {
				if want := filepath.Join(tt.want, "bin", "java"); got != want || err != nil {
					t.Errorf("found %q, %v; want %q", got, err, want)
				}
				return
			}
			if !errors.Is(err, ErrNoJava) {
				t.Fatalf("error %v, want ErrNoJava", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error does not say %q:\n%v", s, err)
				}
			}
		})
	}
}
