package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// notInIDs are characters that may not be in an SPDX id.
var notInIDs = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// A relation is one of two packages.
type relation struct{ from, to common.ElementID }

// writeSBOM writes the SBOM (SPDX 2.3, JSON) of the programs in an archive: the modules and the Go that they were built
// with, as the go command has written them into the programs.
func (r *release) writeSBOM(name string, built []string) error {
	commit := ""
	modules := map[string]*v2_3.Package{}
	relations := map[relation]string{}
	for _, file := range built {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		if info.Main.Version != r.version {
			return fmt.Errorf("%s has the version %s", file, info.Main.Version)
		}
		program := packageOf(info.Main.Path, r.version)
		id := program.PackageSPDXIdentifier
		modules[program.PackageName] = program
		relations[relation{"DOCUMENT", id}] = common.TypeRelationshipDescribe
		for _, p := range append(dependencies(info), packageOf("std", strings.TrimPrefix(info.GoVersion, "go"))) {
			modules[p.PackageName] = p
			relations[relation{id, p.PackageSPDXIdentifier}] = common.TypeRelationshipDependsOn
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	doc := v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name,
		// A name that nobody else uses, and no address: the project has none until it is published.
		DocumentNamespace: "https://ledger.example/sbom/" + name + "/" + commit,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "ledger-release-" + r.version}},
			Created:  r.at.Format(time.RFC3339),
		},
	}
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		doc.Packages = append(doc.Packages, modules[key])
	}
	for _, rel := range slices.SortedFunc(maps.Keys(relations), func(a, b relation) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	}) {
		doc.Relationships = append(doc.Relationships, &v2_3.Relationship{
			RefA: common.MakeDocElementID("", string(rel.from)), RefB: common.MakeDocElementID("", string(rel.to)),
			Relationship: relations[rel],
		})
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(r.out, name+".spdx.json"), string(text)+"\n")
}

func dependencies(info *debug.BuildInfo) (all []*v2_3.Package) {
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		all = append(all, packageOf(d.Path, d.Version))
	}
	return all
}

// packageOf returns a module as a package. THIRD_PARTY.txt has its licence.
func packageOf(path, version string) *v2_3.Package {
	const unsaid = "NOASSERTION"
	id := "Package-" + notInIDs.ReplaceAllString(path+"-"+version, "-")
	return &v2_3.Package{
		PackageName: path, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: version,
		PackageDownloadLocation: unsaid, PackageLicenseConcluded: unsaid, PackageLicenseDeclared: unsaid,
		PackageCopyrightText: unsaid,
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + path + "@" + version,
		}},
	}
}
