package dynamolocal

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// archive returns a .tar.gz with one file.
func archive(t *testing.T, name, body string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	err := tw.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o777, Size: int64(len(body))})
	_, err2 := tw.Write([]byte(body))
	if err := errors.Join(err, err2, tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// An archive is accepted only if it has the expected checksum and the program.
func TestFetchChecksTheArchive(t *testing.T) {
	data := archive(t, "program/DynamoDBLocal.jar", "jar")
	without := archive(t, "program/other.jar", "jar")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.tar.gz":
			w.Write(data)
		case "/without.tar.gz":
			w.Write(without)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	known := func(data []byte) string {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	dir, err := fetchURL(t.Context(), server.URL+"/a.tar.gz", known(data), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
		t.Error(err)
	}
	_, err = fetchURL(t.Context(), server.URL+"/a.tar.gz", archiveSHA256, t.TempDir())
	if !errors.Is(err, ErrChecksum) {
		t.Errorf("another archive: %v, want ErrChecksum", err)
	}
	for path, says := range map[string]string{"/without.tar.gz": "no DynamoDBLocal.jar", "/none.tar.gz": "404"} {
		_, err := fetchURL(t.Context(), server.URL+path, known(without), t.TempDir())
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
