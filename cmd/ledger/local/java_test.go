package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseJavaMajor(t *testing.T) {
	tests := []struct {
		out  string
		want int // 0 for an error
	}{
		{"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment", 17},
		{"openjdk version \"21\" 2023-09-19", 21},
		{"java version \"1.8.0_392\"", 8},
		{"java version \"1\"", 1},
		{"openjdk version \"26-ea\" 2026-03-17", 26},
		{"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version \"25.0.1\" 2025-10-21", 25},
		{"The operation couldn't be completed. Unable to locate a Java Runtime.", 0},
		{"", 0},
	}
	for _, tt := range tests {
		got, err := parseJavaMajor(tt.out)
		if got != tt.want || (err != nil) != (tt.want == 0) {
			t.Errorf("parseJavaMajor(%q) = %d, %v; want %d", tt.out, got, err, tt.want)
		}
	}
}

// fakeJava makes a java in dir/bin that says it has a version, and returns dir.
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
	java11, java17, java21, stub := fakeJava(t, "11.0.2"), fakeJava(t, "17.0.1"), fakeJava(t, "21.0.1"), fakeJava(t, "")
	none := t.TempDir()
	tests := map[string]struct {
		home, path string
		want       string   // directory of the java that is taken
		says       []string // what the error says, if there is one
	}{
		"JAVA_HOME before PATH":      {home: java17, path: java21, want: java17},
		"PATH alone":                 {path: java21, want: java21},
		"old in JAVA_HOME, new PATH": {home: java11, path: java17, want: java17},
		"old in both":                {home: java11, path: java11, says: []string{"JAVA_HOME", "PATH", "is Java 11", "needs Java 17"}},
		"a stub":                     {path: stub, says: []string{"Unable to locate a Java Runtime"}},
		"none":                       {path: none, says: []string{"JAVA_HOME: not set", "there is no java", "apt-get install", "brew install", "endpoint"}},
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
			var missing *JavaError
			if !errors.As(err, &missing) {
				t.Fatalf("error %v, want a JavaError", err)
			}
			for _, s := range tt.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error does not say %q:\n%v", s, err)
				}
			}
		})
	}
}
