package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// programs are the folders of the programs in cmd.
var programs = []string{"ledger", "ledger-bench", "ledger-proof"}

// documents are the files of the repository that are in every archive.
var documents = []string{"CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY.txt"}

// goBuild builds a package of the clone into a file. No path of this machine and no setting of its user is in it.
func (r *release) goBuild(ctx context.Context, p platform, file, pkg string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w", "-o", file}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...) //nolint:gosec // the arguments are of this package
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0",
		"GOEXPERIMENT=", "GOOS="+p.system, "GOARCH="+p.machine)
	_, err := outputOf(cmd)
	return err
}

// writeExtras writes the manual pages and the completions into a folder, which it returns. They are the same on each
// platform.
func (r *release) writeExtras(ctx context.Context) (folder string, _ error) {
	folder = filepath.Join(r.scratch, "extras")
	_, err := r.output(ctx, r.source, "go", "test", "-count=1", "./cmd/ledger",
		"-run", "^(TestManualPages|TestCompletions)$", "-args", "-extras", folder, "-date", r.at.Format(time.DateOnly))
	return folder, err
}

// buildPrograms builds the programs for a platform, their archive, their SBOM, and for Linux their Debian package.
func (r *release) buildPrograms(ctx context.Context, p platform, extras string) error {
	name := r.name(p.system, p.machine)
	folder := filepath.Join(r.scratch, name)
	if err := os.CopyFS(folder, os.DirFS(extras)); err != nil {
		return err
	}
	if err := r.copyDocuments(folder, documents...); err != nil {
		return err
	}
	if p.system == "linux" { // the archive is what the image is built from
		if err := r.copyDocuments(folder, "Dockerfile"); err != nil {
			return err
		}
	}
	var built []string
	for _, program := range programs {
		file := filepath.Join(folder, program)
		if err := r.goBuild(ctx, p, file, "./cmd/"+program); err != nil {
			return err
		}
		built = append(built, file)
	}
	if err := r.archive(folder); err != nil {
		return err
	}
	if err := r.writeSBOM(name, built); err != nil || p.system != "linux" {
		return err
	}
	return r.buildDebian(ctx, p, folder)
}

// copyDocuments copies files of the repository into a folder.
func (r *release) copyDocuments(folder string, files ...string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for everybody
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err == nil {
			err = writeFile(filepath.Join(folder, name), string(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
