package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// archive writes a folder into an archive with its name. The files are in the order of their names, belong to root, and
// have the time of the commit.
func (r *release) archive(folder string) (err error) {
	file, err := os.Create(filepath.Join(r.out, filepath.Base(folder)+".tar.gz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression) // without a name and a time
	if err != nil {
		return err
	}
	tape := tar.NewWriter(zipped)
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return r.addToArchive(tape, filepath.Dir(folder), path)
	})
	return errors.Join(err, tape.Close(), zipped.Close())
}

// addToArchive adds a file or a folder under its path in root.
func (r *release) addToArchive(tape *tar.Writer, root, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	h := &tar.Header{
		Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Size: info.Size(), Mode: 0o644, ModTime: r.at,
		Uname: "root", Gname: "root", Format: tar.FormatPAX,
	}
	switch {
	case info.IsDir():
		h.Typeflag, h.Name, h.Size, h.Mode = tar.TypeDir, h.Name+"/", 0, 0o755
	case info.Mode()&0o100 != 0:
		h.Mode = 0o755
	}
	if err := tape.WriteHeader(h); err != nil || info.IsDir() {
		return err
	}
	file, err := os.Open(path) //nolint:gosec // of this release
	if err != nil {
		return err
	}
	_, err = io.Copy(tape, file)
	return errors.Join(err, file.Close())
}

// nfpm makes packages. It is the newest version whose modules every proxy has.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0"

// A debianPackage is what nfpm reads.
type debianPackage struct {
	Name        string        `yaml:"name"`
	Arch        string        `yaml:"arch"`
	Version     string        `yaml:"version"`
	Maintainer  string        `yaml:"maintainer"`
	Description string        `yaml:"description"`
	License     string        `yaml:"license"`
	Section     string        `yaml:"section"`
	Conflicts   []string      `yaml:"conflicts"`
	Recommends  []string      `yaml:"recommends"`
	Contents    []packageFile `yaml:"contents"`
}

type packageFile struct {
	Source string `yaml:"src"`
	Target string `yaml:"dst"`
}

// buildDebian writes the Debian package of a folder with the programs for Linux. Debian has another program ledger, so
// the package has a longer name, and only one of the two can be installed.
func (r *release) buildDebian(ctx context.Context, p platform, folder string) error {
	d := debianPackage{
		Name: "ledger-dynamodb", Arch: p.machine, Version: strings.TrimPrefix(r.version, "v"),
		Maintainer: "The maintainers of the ledger <maintainers@ledger.example>",
		Description: "double-entry ledger on one DynamoDB table\n" +
			"The command line, the auditor of proofs and the benchmark.",
		License: "Apache-2.0", Section: "utils",
		Conflicts: []string{"ledger"}, Recommends: []string{"ca-certificates", "default-jre-headless"},
	}
	add := func(source, target string) {
		d.Contents = append(d.Contents, packageFile{filepath.Join(folder, source), target})
	}
	for _, program := range programs {
		add(program, "/usr/bin/"+program)
	}
	doc := "/usr/share/doc/" + d.Name
	add("LICENSE", doc+"/copyright")
	for _, name := range []string{"README.md", "CHANGELOG.md", "THIRD_PARTY.txt"} {
		add(name, doc+"/"+name)
	}
	add("man/*", "/usr/share/man/man1")
	add("completions/ledger.bash", "/usr/share/bash-completion/completions/ledger")
	add("completions/_ledger", "/usr/share/zsh/vendor-completions/_ledger")
	add("completions/ledger.fish", "/usr/share/fish/vendor_completions.d/ledger.fish")
	text, err := yaml.Marshal(d)
	if err != nil {
		return err
	}
	config := folder + ".nfpm.yaml"
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return err
	}
	//nolint:gosec // the arguments are of this package
	cmd := exec.CommandContext(ctx, "go", "run", nfpm, "package", "--config", config, "--packager", "deb",
		"--target", filepath.Join(r.out, filepath.Base(folder)+".deb"))
	cmd.Dir = r.scratch
	cmd.Env = append(os.Environ(), fmt.Sprint("SOURCE_DATE_EPOCH=", r.at.Unix()))
	_, err = outputOf(cmd)
	return err
}
