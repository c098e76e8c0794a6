package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// minJavaMajor is the oldest Java that DynamoDB Local runs on, since 2.6.0
// (AWS, "Deploying DynamoDB locally on your computer").
const minJavaMajor = 17

// javaVersionTimeout bounds one `java -version`; a JVM answers in a tenth of a
// second, a stub that asks to install something may not answer at all.
const javaVersionTimeout = 20 * time.Second

// JavaError says that no Java which can run DynamoDB Local was found. Its text
// names each place that was looked at and how to get one.
type JavaError struct {
	// Tried has one entry for each java looked at: where, and what was wrong.
	Tried []string
}

func (e *JavaError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "DynamoDB Local needs Java %d or newer, and none was found:", minJavaMajor)
	for _, t := range e.Tried {
		b.WriteString("\n  - " + t)
	}
	b.WriteString("\nInstall one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; " +
		"Fedora: dnf install java-latest-openjdk-headless; macOS: brew install openjdk), " +
		"or point JAVA_HOME at one that you have, or use a DynamoDB Local that runs already " +
		"by giving its endpoint.")
	return b.String()
}

// findJava returns the path of the first java that is new enough: the one in
// JAVA_HOME, then the one on the PATH. The error is a *JavaError.
func findJava(ctx context.Context) (string, error) {
	var tried []string
	for _, c := range javaCandidates() {
		if c.err != nil {
			tried = append(tried, c.from+": "+c.err.Error())
			continue
		}
		major, err := javaMajor(ctx, c.path)
		switch {
		case err != nil:
			tried = append(tried, fmt.Sprintf("%s: %s: %v", c.from, c.path, err))
		case major < minJavaMajor:
			tried = append(tried, fmt.Sprintf("%s: %s is Java %d", c.from, c.path, major))
		default:
			return c.path, nil
		}
	}
	return "", &JavaError{Tried: tried}
}

type javaCandidate struct {
	from string // where it was looked for
	path string
	err  error // why there is no path
}

func javaCandidates() []javaCandidate {
	var cs []javaCandidate
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path, err := exec.LookPath(filepath.Join(home, "bin", "java"))
		cs = append(cs, javaCandidate{from: "JAVA_HOME", path: path, err: err})
	} else {
		cs = append(cs, javaCandidate{from: "JAVA_HOME", err: errors.New("not set")})
	}
	path, err := exec.LookPath("java")
	if err != nil {
		err = errors.New("there is no java")
	}
	return append(cs, javaCandidate{from: "PATH", path: path, err: err})
}

// javaMajor asks the java at path for its major version.
func javaMajor(ctx context.Context, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, javaVersionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("`java -version` failed: %w: %s", err, firstLine(out))
	}
	return parseJavaMajor(string(out))
}

var javaVersion = regexp.MustCompile(`version "(\d+)(?:\.(\d+))?`)

// parseJavaMajor reads the major version out of what `java -version` prints:
// 17 of `openjdk version "17.0.15" 2025-04-15`, and 8 of the old style
// `java version "1.8.0_392"`.
func parseJavaMajor(out string) (int, error) {
	m := javaVersion.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("no version in what `java -version` prints: %s", firstLine([]byte(out)))
	}
	if m[1] == "1" && m[2] != "" {
		return strconv.Atoi(m[2])
	}
	return strconv.Atoi(m[1])
}

// firstLine is the first line of a program's output that isn't blank, for an
// error message.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "(no output)"
}
