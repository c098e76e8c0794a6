package main

import (
	"bytes"
	"cmp"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names of files that a licence asks to pass on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// thirdParty returns the licences and notices of every module that is linked into the functions and the commands, on
// the systems for which the commands are built. Modules with the same texts share them.
func thirdParty() string {
	texts := make(map[string]map[string]bool) // text, and the modules and folders that it is of
	add := func(module, file string) {
		text, err := os.ReadFile(file)
		check(err)
		key := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		if texts[key] == nil {
			texts[key] = make(map[string]bool)
		}
		texts[key][module+", "+filepath.Base(file)] = true
	}
	for _, p := range linkedPackages() {
		found := false
		for folder := p.folder; ; folder = filepath.Dir(folder) {
			entries, err := os.ReadDir(folder)
			check(err)
			for _, entry := range entries {
				if !entry.IsDir() && licenceFile.MatchString(entry.Name()) {
					within, err := filepath.Rel(p.root, folder)
					check(err)
					of := strings.TrimSuffix(p.module+" "+p.version+"/"+filepath.ToSlash(within), "/.")
					add(of, filepath.Join(folder, entry.Name()))
					found = true
				}
			}
			if folder == p.root {
				break
			}
		}
		if !found {
			log.Fatalf("%s %s has no licence", p.module, p.version)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	add("the Go standard library and runtime", filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))

	type part struct{ of, text string }
	var parts []part
	for text, of := range texts {
		parts = append(parts, part{strings.Join(slices.Sorted(maps.Keys(of)), "\n"), text})
	}
	slices.SortFunc(parts, func(x, y part) int { return cmp.Compare(x.of, y.of) })
	var result strings.Builder
	result.WriteString("Licences and notices of what is linked into the functions and commands of the ledger.\n" +
		"The ledger's own licence is in LICENSE. go generate ./docs writes this file.\n")
	for _, p := range parts {
		fmt.Fprintf(&result, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), p.of, p.text)
	}
	return result.String()
}

// linked is a package of another module.
type linked struct{ module, version, root, folder string }

func linkedPackages() []linked {
	all := make(map[linked]bool)
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}",
			"./cmd/...", "./functions/...")
		list.Dir, list.Stderr = "..", os.Stderr
		list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := list.Output()
		check(err)
		for line := range bytes.Lines(out) {
			if f := strings.Split(strings.TrimSpace(string(line)), "\t"); len(f) == 4 {
				all[linked{f[0], f[1], f[2], f[3]}] = true
			}
		}
	}
	return slices.Collect(maps.Keys(all))
}
