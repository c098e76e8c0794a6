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

// minJavaMajor is the oldest Java that DynamoDB Local runs on, since 2.6.0 (AWS, "Deploying DynamoDB locally on
// your computer").
const minJavaMajor = 17

// javaVersionTimeout bounds one `java -version`. A JVM answers in a tenth of a second; a stub that asks to install
// something may not answer at all.
const javaVersionTimeout = 20 * time.Second

// ErrNoJava means that no Java was found that can run DynamoDB Local. The error that wraps it says where it was
// looked for, and how to get one.
var ErrNoJava = fmt.Errorf("DynamoDB Local needs Java %d or newer, and none was found", minJavaMajor)

const javaRemedy = "\nInstall one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; " +
	"Fedora: dnf install java-latest-openjdk-headless; macOS: brew install openjdk), or point JAVA_HOME at one, " +
	"or use a DynamoDB Local that runs already by giving its endpoint."

// findJava returns the path of the first java that is new enough: the one in JAVA_HOME, then the one on the PATH.
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
		return errors.New("no version in what `java -version` prints: " + firstLine(out))
	}
	if major, err := strconv.Atoi(string(m[1])); err != nil || major < minJavaMajor {
		return fmt.Errorf("%s is Java %s", path, m[1])
	}
	return nil
}

// javaVersion finds the major version in the output of `java -version`: 8 in "1.8.0_392", 17 in "17.0.1".
var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// firstLine is the first line of a program's output that isn't blank, for an error message.
func firstLine(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return "(no output)"
}
