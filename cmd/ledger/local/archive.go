package local

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// archiveURL is where AWS publishes DynamoDB Local, and beside it its checksum
// (AWS, "Deploying DynamoDB locally on your computer"). The path says v2.x and
// holds 3.x.
const archiveURL = "https://d1ni2b6xgvw0s0.cloudfront.net/v2.x/dynamodb_local_latest.tar.gz"

const (
	// connectTimeout lets a network that swallows packets fail fast, so that
	// the other ways get their turn.
	connectTimeout = 5 * time.Second
	// answerTimeout is how long the server may take to begin its answer.
	answerTimeout = 10 * time.Second
	// maxChecksumBytes bounds the checksum file: 64 hex digits and a name.
	maxChecksumBytes = 4 << 10
	// maxArchiveBytes bounds the download; version 3.3 has 50 MB.
	maxArchiveBytes = 500 << 20
	// maxUnpackedBytes bounds what an archive may unpack to; version 3.3 has
	// 57 MB.
	maxUnpackedBytes = 1 << 30
)

// fetchArchive obtains AWS's own archive.
func fetchArchive(ctx context.Context, scratch string) (string, error) {
	client := &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: answerTimeout,
		DisableKeepAlives:     true,
	}}
	return fetchArchiveFrom(ctx, client, archiveURL, scratch)
}

func fetchArchiveFrom(ctx context.Context, client *http.Client, url, scratch string) (string, error) {
	want, err := downloadChecksum(ctx, client, url+".sha256")
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "archive.tar.gz")
	if err := downloadVerified(ctx, client, url, file, want); err != nil {
		return "", err
	}
	return unpackProgram(file, filepath.Join(scratch, "unpacked"))
}

// downloadChecksum reads a published SHA-256: hexadecimal digits, then
// usually the name of the file.
func downloadChecksum(ctx context.Context, client *http.Client, url string) (string, error) {
	body, err := get(ctx, client, url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxChecksumBytes))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return "", errors.New("the published checksum is empty")
	}
	sum := strings.ToLower(fields[0])
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha256.Size {
		return "", fmt.Errorf("what is published as the checksum is not a SHA-256: %.80q", text)
	}
	return sum, nil
}

// downloadVerified writes what url answers to file, and fails unless its
// SHA-256 is want.
func downloadVerified(ctx context.Context, client *http.Client, url, file, want string) error {
	body, err := get(ctx, client, url)
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, maxArchiveBytes+1))
	if err != nil {
		return fmt.Errorf("download of %s: %w", url, err)
	}
	if n > maxArchiveBytes {
		return fmt.Errorf("%s has more than %d bytes", url, maxArchiveBytes)
	}
	if err := checkSum(sum, want); err != nil {
		return err
	}
	return f.Close()
}

// ErrChecksum says that a download is not what its publisher published.
var ErrChecksum = errors.New("the checksum of the download is wrong")

// checkSum compares what was hashed with the hexadecimal digest want.
func checkSum(sum hash.Hash, want string) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%w: it has %s, published is %s", ErrChecksum, got, want)
	}
	return nil
}

func get(ctx context.Context, client *http.Client, url string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return resp.Body, nil
}

// unpackProgram unpacks the .tar.gz file into the new directory dir, and
// returns the directory in it that holds DynamoDB Local.
func unpackProgram(file, dir string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	if err := unpack(bufio.NewReader(f), dir, maxUnpackedBytes); err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	program := ""
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "DynamoDBLocal.jar" && program == "" {
			program = filepath.Dir(path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if program == "" {
		return "", errors.New("there is no DynamoDBLocal.jar in the archive")
	}
	return program, nil
}

// unpack writes the directories and plain files of a .tar.gz stream below dir,
// with ordinary permissions, at most maxBytes in all. It refuses an entry whose
// name leads out of dir (os.Root does), and links: a program's archive needs
// none.
func unpack(r io.Reader, dir string, maxBytes int64) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	gz, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	left := maxBytes
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.Clean(filepath.FromSlash(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			if left -= h.Size; left < 0 {
				return fmt.Errorf("it unpacks to more than %d bytes", maxBytes)
			}
			err = unpackFile(root, name, tr)
		case tar.TypeXGlobalHeader:
		default:
			return fmt.Errorf("the entry %q is neither a file nor a directory", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
