package dynamolocal

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

// minJavaMajor is the oldest Java that runs DynamoDB Local 2.6.0 and later (AWS, "Deploying DynamoDB locally on your
// computer").
const minJavaMajor = 17

// javaVersionTimeout bounds `java -version`. A JVM needs a tenth of a second. A stub that offers to install Java may
// never end.
const javaVersionTimeout = 20 * time.Second

// ErrNoJava means that no suitable Java was found. The error that wraps it says where findJava searched, and how to
// install Java.
var ErrNoJava = fmt.Errorf("DynamoDB Local needs Java %d or newer, and none was found", minJavaMajor)

const javaRemedy = "\nInstall one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; " +
	"Fedora: dnf install java-latest-openjdk-headless; macOS: brew install openjdk), or set JAVA_HOME, " +
	"or give the endpoint of a DynamoDB Local that already runs."

// findJava returns the path of a java that is new enough. It tries JAVA_HOME first, then PATH.
// Errors: ErrNoJava.
func findJava(ctx context.Context) (string, error) {
	tried := ""
	for _, place := range []struct{ name, java string }{
		{"JAVA_HOME", filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")}, {"PATH", "java"},
	} {
		if place.name == "JAVA_HOME" && os.Getenv("JAVA_HOME") == "" {
			tried += "\n  - JAVA_HOME: not set"
			continue
		}
		path, err := exec.LookPath(place.java)
		if err == nil {
			err = checkJava(ctx, path)
		}
		if err == nil {
			return path, nil
		}
		tried += fmt.Sprintf("\n  - %s: %v", place.name, err)
	}
	return "", fmt.Errorf("%w:%s%s", ErrNoJava, tried, javaRemedy)
}

// checkJava returns an error unless the java at path is new enough.
func checkJava(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, javaVersionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("`%s -version` failed: %w: %s", path, err, firstLine(out))
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return errors.New("no version in the output of `java -version`: " + firstLine(out))
	}
	if major, err := strconv.Atoi(string(m[1])); err != nil || major < minJavaMajor {
		return fmt.Errorf("%s is Java %s", path, m[1])
	}
	return nil
}

// javaVersion matches the major version in the output of `java -version`: 8 in "1.8.0_392", 17 in "17.0.1".
var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// firstLine returns the first line of a program's output that is not blank, for an error message.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "(no output)"
}
