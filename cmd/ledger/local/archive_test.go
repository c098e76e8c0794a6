package local

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
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

// entry is one of an archive that a test makes.
type entry struct {
	name string
	typ  byte
	body string
	link string
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	tw := tar.NewWriter(gz)
	for _, e := range entries {
		if e.typ == 0 {
			e.typ = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Typeflag: e.typ, Mode: 0o777, Size: int64(len(e.body)), Linkname: e.link}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(e.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestUnpackWritesDirectoriesAndFiles(t *testing.T) {
	dir := t.TempDir()
	data := archive(t,
		entry{name: "./", typ: tar.TypeDir},
		entry{name: "./DynamoDBLocal.jar", body: "jar"},
		entry{name: "lib/deep/a.so", body: "library"}) // without an entry for lib/deep
	if err := unpack(bytes.NewReader(data), dir, 100); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"DynamoDBLocal.jar": "jar", "lib/deep/a.so": "library"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestUnpackRefusesWhatLeadsOut(t *testing.T) {
	tests := map[string][]entry{
		"parent":         {{name: "../evil", body: "x"}},
		"hidden parent":  {{name: "a/../../evil", body: "x"}},
		"absolute":       {{name: "/evil", body: "x"}},
		"symbolic link":  {{name: "a", typ: tar.TypeSymlink, link: ".."}, {name: "a/evil", body: "x"}},
		"hard link":      {{name: "a", typ: tar.TypeLink, link: "../evil"}},
		"file over file": {{name: "a", body: "x"}, {name: "a", body: "y"}},
		"too much":       {{name: "a", body: strings.Repeat("x", 60)}, {name: "b", body: strings.Repeat("x", 60)}},
	}
	for name, entries := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "in", "here")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := unpack(bytes.NewReader(archive(t, entries...)), dir, 100); err == nil {
				t.Error("it was unpacked")
			}
			for _, outside := range []string{filepath.Join(parent, "evil"), filepath.Join(parent, "in", "evil"), "/evil"} {
				if _, err := os.Lstat(outside); err == nil {
					t.Errorf("%s was written", outside)
				}
			}
		})
	}
}

func TestUnpackFailsForATruncatedArchive(t *testing.T) {
	data := archive(t, entry{name: "DynamoDBLocal.jar", body: strings.Repeat("jar ", 1000)})
	if err := unpack(bytes.NewReader(data[:len(data)-20]), t.TempDir(), 1<<20); err == nil {
		t.Error("it was unpacked")
	}
}

// serve publishes an archive and a checksum file, at the URL returned.
func serve(t *testing.T, archive []byte, checksum string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/a.tar.gz", func(w http.ResponseWriter, _ *http.Request) { w.Write(archive) })
	mux.HandleFunc("/a.tar.gz.sha256", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(checksum)) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/a.tar.gz"
}

func TestFetchArchiveChecksWhatAWSPublishes(t *testing.T) {
	data := archive(t, entry{name: "program/DynamoDBLocal.jar", body: "jar"})
	sum := sha256.Sum256(data)
	right := hex.EncodeToString(sum[:])
	wrong := "0" + right[1:]
	if wrong == right {
		wrong = "1" + right[1:]
	}
	tests := map[string]struct {
		checksum string
		mismatch bool
		ok       bool
	}{
		"right":                {checksum: right + "  dynamodb_local_latest.tar.gz\n", ok: true},
		"right, in upper case": {checksum: strings.ToUpper(right), ok: true},
		"wrong":                {checksum: wrong + "  dynamodb_local_latest.tar.gz\n", mismatch: true},
		"empty":                {checksum: ""},
		"a page":               {checksum: "<html>Please log in</html>"},
		"too short":            {checksum: right[:40]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir, err := fetchArchiveFrom(context.Background(), http.DefaultClient, serve(t, data, tt.checksum), t.TempDir())
			if got := errors.Is(err, ErrChecksum); got != tt.mismatch {
				t.Errorf("error %v; is it ErrChecksum: %t, want %t", err, got, tt.mismatch)
			}
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if tt.ok {
				if _, err := os.Stat(filepath.Join(dir, "DynamoDBLocal.jar")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestFetchArchiveNamesTheStatus(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := fetchArchiveFrom(context.Background(), http.DefaultClient, server.URL+"/a.tar.gz", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("error %v, want the status", err)
	}
}

func TestCheckFileComparesTheDigest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "package.tgz")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	// SHA-512 of "abc" (FIPS 180-4, example).
	const abc = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" +
		"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
	if err := checkFile(file, abc); err != nil {
		t.Error(err)
	}
	if err := checkFile(file, npmSHA512); !errors.Is(err, ErrChecksum) {
		t.Errorf("error %v, want ErrChecksum", err)
	}
}
