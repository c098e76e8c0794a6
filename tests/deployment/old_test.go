// Package deployment runs two releases on one table at once, as happens during a deployment. The older one is the last
// release without groups, lists and effective dates. The newer one is this source. Both use one DynamoDB Local.
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

const whyFull = "builds an older release, and runs its command on DynamoDB Local"

// olderCommit is the commit of the older release.
const olderCommit = "2c0a32992fc0d5b9f8b8ae50f189c3930319cf81"

// errNoHistory means that this copy of the source has no history, so that the older release cannot be built.
var errNoHistory = errors.New("this copy of the source has no history: the commit " + olderCommit + " cannot be built. " +
	"Fetch it (git fetch --unshallow)")

// oldBinary builds the command of the older release, once per run. Error: errNoHistory.
var oldBinary = sync.OnceValues(func() (string, error) {
	if err := git(io.Discard, "cat-file", "-e", olderCommit+"^{commit}"); err != nil {
		var shallow bytes.Buffer
		if git(&shallow, "rev-parse", "--is-shallow-repository") == nil && strings.TrimSpace(shallow.String()) != "true" {
			return "", fmt.Errorf("the history lacks the commit %s, the older release: %w", olderCommit, err)
		}
		return "", errNoHistory
	}
	source := filepath.Join(process.Folder, "older")
	var archive bytes.Buffer
	if err := git(&archive, "archive", "--format=tar", olderCommit); err != nil {
		return "", err
	}
	if err := extract(&archive, source); err != nil {
		return "", err
	}
	binary := filepath.Join(process.Folder, "older-ledger")
	build := exec.Command("go", "build", "-o", binary, "./cmd/ledger")
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w: %s", olderCommit, err, out)
	}
	return binary, nil
})

// git runs git in the repository of this source.
func git(out io.Writer, arguments ...string) error {
	command := exec.Command("git", append([]string{"-C", "../.."}, arguments...)...)
	var problems bytes.Buffer
	command.Stdout, command.Stderr = out, &problems
	if err := command.Run(); err != nil {
		return fmt.Errorf("git %s: %w: %s", arguments[0], err, problems.Bytes())
	}
	return nil
}

// extract writes the files of an archive into a folder.
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

// releases starts both releases on one table.
type releases struct {
	t      *testing.T
	store  *system.Store
	table  string
	binary string // of the older release
}

// startReleases builds the older release. The test is skipped if that is not possible.
func startReleases(t *testing.T) *releases {
	t.Helper()
	full.Only(t, whyFull)
	binary, err := oldBinary()
	switch {
	case errors.Is(err, errNoHistory):
		full.Without(t, err.Error())
	case err != nil:
		t.Fatal(err)
	}
	return &releases{t: t, store: system.Local(t), table: strings.ReplaceAll(t.Name(), "/", "-"), binary: binary}
}

// old starts the API of the older release, and its projector unless an argument is --no-pump.
func (r *releases) old(arguments ...string) (*process.Process, *caller.Caller) {
	r.t.Helper()
	up := process.StartOf(r.t, r.binary, append([]string{"up", "--port", "0", "--dynamodb-endpoint", r.store.Endpoint,
		"--table", r.table}, arguments...)...)
	return up, caller.New(r.t, up.URL)
}

// new starts this release, until t ends. form is the newest stored form that it may write.
func (r *releases) new(t *testing.T, form int, options ...system.Option) *system.System {
	t.Helper()
	return r.store.Serve(t, r.table, append(options, system.NewestForm(form))...)
}

// operator runs an operator's command with the binary of one of the releases.
func (r *releases) operator(binary, command string, arguments ...string) (out, problems string, status int) {
	r.t.Helper()
	arguments = append([]string{command, "--dynamodb-endpoint", r.store.Endpoint, "--table", r.table}, arguments...)
	return process.RunOf(r.t, binary, "", arguments...)
}

// wantCleanAudit fails the test if an audit finds anything.
func (r *releases) wantCleanAudit(binary string) {
	r.t.Helper()
	if out, problems, status := r.operator(binary, "verify", "--settle", "0s"); status != 0 {
		r.t.Errorf("%s: verify ended with %d: %s%s", filepath.Base(binary), status, out, problems)
	}
}

// wantKnownFindings fails the test if the older release's audit finds anything but items and attributes that are newer
// than it and do it no harm: an attribute of guards, entries of lists, and pages of the journal.
func (r *releases) wantKnownFindings() {
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
