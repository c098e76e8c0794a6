// Package deployment runs the commands of two releases on one table, as they meet in a deployment: the last release
// that knows no groups, lists and dates in the past, and this one. Both run on one DynamoDB Local.
package deployment

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ledger.example/internal/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/full"
	"ledger.example/tests/process"
	"ledger.example/tests/system"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

const reason = "builds an older release, and runs its command on DynamoDB Local"

// older is the commit of that release.
const older = "2c0a32992fc0d5b9f8b8ae50f189c3930319cf81"

// errNoHistory says that this is a copy of the source in which older commits cannot be.
var errNoHistory = errors.New("this copy of the source has no history: the commit " + older + " cannot be built. " +
	"Fetch it (git fetch --unshallow)")

// oldBinary builds the command of the older release, once for the run. Error: errNoHistory.
var oldBinary = sync.OnceValues(func() (string, error) {
	if err := git(io.Discard, "cat-file", "-e", older+"^{commit}"); err != nil {
		var shallow bytes.Buffer
		if git(&shallow, "rev-parse", "--is-shallow-repository") == nil && strings.TrimSpace(shallow.String()) != "true" {
			return "", fmt.Errorf("the history lacks the commit %s, the older release: %w", older, err)
		}
		return "", errNoHistory
	}
	source := filepath.Join(process.Folder, "older")
	var archive bytes.Buffer
	if err := git(&archive, "archive", "--format=tar", older); err != nil {
		return "", err
	}
	if err := extract(&archive, source); err != nil {
		return "", err
	}
	binary := filepath.Join(process.Folder, "older-ledger")
	build := exec.Command("go", "build", "-o", binary, "./cmd/ledger")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w: %s", older, err, out)
	}
	return binary, nil
})

// git runs git on the repository of this source.
func git(out io.Writer, arguments ...string) error {
	command := exec.Command("git", append([]string{"-C", "../.."}, arguments...)...)
	var problems bytes.Buffer
	command.Stdout, command.Stderr = out, &problems
	if err := command.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", arguments[0], err, problems.Bytes())
	}
	return nil
}

// extract writes the files of an archive below a folder.
func extract(archive io.Reader, folder string) error {
	for files := tar.NewReader(archive); ; {
		header, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case header.Typeflag != tar.TypeReg:
			continue
		case !filepath.IsLocal(header.Name):
			return fmt.Errorf("%s is outside of the archive", header.Name)
		}
		path := filepath.Join(folder, header.Name)
		content, err := io.ReadAll(files)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
}

// releases are both on one table.
type releases struct {
	t      *testing.T
	store  *system.Store
	table  string
	binary string // of the older release
}

// both makes a table by the template of the older release.
func both(t *testing.T) *releases {
	t.Helper()
	full.Only(t, reason)
	binary, err := oldBinary()
	switch {
	case errors.Is(err, errNoHistory):
		full.Without(t, err.Error())
	case err != nil:
		t.Fatal(err)
	}
	return &releases{t: t, store: system.Local(t), table: strings.ReplaceAll(t.Name(), "/", "-"), binary: binary}
}

// old starts the older release: its API, and its projector unless an argument says otherwise.
func (r *releases) old(arguments ...string) (*process.Process, *caller.Caller) {
	r.t.Helper()
	up := process.StartOf(r.t, r.binary, append([]string{"up", "--port", "0", "--dynamodb-endpoint", r.store.Endpoint,
		"--table", r.table}, arguments...)...)
	return up, caller.New(r.t, up.URL)
}

// new starts this release. Its projector runs until the subtest ends.
func (r *releases) new(t *testing.T, form int, options ...system.Option) *system.System {
	t.Helper()
	return r.store.Serve(t, r.table, append(options, system.NewestForm(form))...)
}

// operator runs a command of operators, of the older release or of this one.
func (r *releases) operator(binary, command string, arguments ...string) (out, problems string, status int) {
	r.t.Helper()
	arguments = append([]string{command, "--dynamodb-endpoint", r.store.Endpoint, "--table", r.table}, arguments...)
	return process.RunOf(r.t, binary, "", arguments...)
}

// sound fails the test unless an audit finds nothing.
func (r *releases) sound(binary string) {
	r.t.Helper()
	if out, problems, status := r.operator(binary, "verify", "--settle", "0s"); status != 0 {
		r.t.Errorf("%s: verify ended with %d: %s%s", filepath.Base(binary), status, out, problems)
	}
}

// knowsNothingElse fails the test unless all that an audit by the older release finds is what it does not know, and
// keeps: an attribute of guards, entries of lists, and pages of the journal.
func (r *releases) knowsNothingElse() {
	r.t.Helper()
	var report struct {
		Findings []struct{ Code, SK, Attribute string }
	}
	out, problems, _ := r.operator(r.binary, "verify", "--settle", "0s", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		r.t.Fatalf("%v: %s%s", err, out, problems)
	}
	for _, f := range report.Findings {
		guard := f.Code == "unknown_attribute" && f.Attribute == table.AttrChange && strings.HasPrefix(f.SK, "SPEND#")
		list := table.ListedBetween("", "").Contains(f.SK) || table.JournalAfter("", "").Contains(f.SK)
		if !guard && !list {
			r.t.Errorf("the older audit finds %+v", f)
		}
	}
}
