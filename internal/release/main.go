// Release builds what users install: for each platform an archive with the programs, their manual pages and the
// completions of shells, and a Debian package for Linux; for each architecture of AWS a folder that sam deploy deploys
// without Go; an SBOM (SPDX) for each of them; and the checksums of all. It uploads nothing.
//
// It builds the commit HEAD in a clone, so what is not committed is not in it. Two builds of a commit under a version
// with the same Go give the same bytes.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/semver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// A platform is an operating system and an architecture, by Go's names.
type platform struct{ system, machine string }

func (p platform) String() string { return p.system + "/" + p.machine }

// A release is one that is being built.
type release struct {
	version string    // with its v
	at      time.Time // of the commit: the time of every file
	source  string    // the clone
	out     string    // the folder of the files
	scratch string
}

// allPlatforms is the default of -platforms.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the release's `version`, such as v0.1.0")
	out := flags.String("out", "dist", "the `folder` for the files; it must be empty or new")
	only := flags.String("platforms", allPlatforms, "the `platforms` of the programs, and those of Linux for AWS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if semver.Canonical(*version) != *version || semver.Build(*version) != "" || flags.NArg() > 0 {
		return fmt.Errorf("%q is no version: say one such as v0.1.0", *version)
	}
	platforms, err := parsePlatforms(*only)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "ledger-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // what cannot be removed is temporary
	r := &release{version: *version, scratch: scratch, source: filepath.Join(scratch, "source")}
	if r.out, err = emptyFolder(*out); err != nil {
		return err
	}
	return r.build(ctx, platforms)
}

func parsePlatforms(list string) (all []platform, _ error) {
	known := strings.Split(allPlatforms, ",")
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%q is no platform: choose from %s", name, allPlatforms)
		}
		system, machine, _ := strings.Cut(name, "/")
		all = append(all, platform{system, machine})
	}
	return all, nil
}

// emptyFolder returns the absolute path of a folder, which it makes if there is none.
func emptyFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(path, 0o755)
	}
	if err != nil {
		return "", err
	}
	inside, err := os.ReadDir(path)
	if err == nil && len(inside) > 0 {
		err = fmt.Errorf("%s is not empty: remove it, or choose another folder with -out", path)
	}
	return path, err
}

func (r *release) build(ctx context.Context, platforms []platform) error {
	if err := r.clone(ctx); err != nil {
		return err
	}
	extras, err := r.writeExtras(ctx)
	if err != nil {
		return err
	}
	for _, p := range platforms {
		fmt.Println("building", r.version, "for", p)
		if err := r.buildPrograms(ctx, p, extras); err != nil {
			return err
		}
		if p.system == "linux" {
			if err := r.buildDeployable(ctx, p); err != nil {
				return err
			}
		}
	}
	return r.writeChecksums()
}

// clone clones the commit HEAD, and gives the clone the tag of the version: the go command takes it into the programs.
func (r *release) clone(ctx context.Context) error {
	here, err := r.output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return fmt.Errorf("a release is built from a clone: %w", err)
	}
	if changed, err := r.output(ctx, here, "git", "status", "--porcelain"); err != nil || changed != "" {
		fmt.Println("note: uncommitted changes are not in the release")
	}
	if _, err := r.output(ctx, here, "git", "clone", "--quiet", "--no-local", here, r.source); err != nil {
		return err
	}
	commit, err := r.output(ctx, here, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	tagged, err := r.output(ctx, r.source, "git", "rev-parse", "--quiet", "--verify", r.version+"^{commit}")
	switch {
	case err == nil && tagged != commit:
		return fmt.Errorf("the tag %s is of another commit, %s", r.version, tagged)
	case err != nil:
		if _, err := r.output(ctx, r.source, "git", "tag", r.version); err != nil {
			return err
		}
	}
	seconds, err := r.output(ctx, r.source, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	r.at = time.Unix(unix, 0).UTC()
	return err
}

// output runs a program in a folder, and returns what it prints. The error has its complaints.
func (r *release) output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the programs are named in this package
	cmd.Dir = dir
	return outputOf(cmd)
}

func outputOf(cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, text, exit.Stderr)
	}
	return strings.TrimSpace(string(text)), err
}

// name returns the name of a file of the release without its suffix.
func (r *release) name(parts ...string) string {
	return strings.Join(append([]string{"ledger", strings.TrimPrefix(r.version, "v")}, parts...), "_")
}

// writeChecksums writes SHA256SUMS, which sha256sum --check reads.
func (r *release) writeChecksums() error {
	files, err := os.ReadDir(r.out) // in the order of their names
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return writeFile(filepath.Join(r.out, "SHA256SUMS"), sums.String())
}

// writeFile writes a file that everybody may read.
func writeFile(path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // for everybody
}
