// Package architecture checks rules that the compiler does not check: which package may import which, that amounts use
// no floating point, that only package full skips tests, and that property tests use the same seed in every run.
// Only it finds an import that runs outwards.
package architecture

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/tests/harness/full"
)

// modulePath is the path of this module. moduleRoot is its folder, relative to this package.
const (
	modulePath = "ledger.example"
	moduleRoot = "../.."
)

// An importRule says which packages the packages of a folder may import.
type importRule struct {
	folder  string // "…/*" matches all folders below; the longest match applies
	imports string // folders of this module, separated by spaces; "." is the module's root
	also    int    // flags
}

// Flags of an importRule.
const (
	pure           = 0         // no flag
	sdk            = 1 << iota // may import AWS's SDK and the Lambda library
	alone                      // may not import other modules, except for golang.org/x/sync
	testsImportAll             // its tests may import everything of this module
)

// everything has all packages of this module.
const everything = ". events client client/* ledger projections projections/* functions/* internal/* cmd/* tests/*"

// importRules allow imports. All others are errors, and so are folders without a rule. They stand from the ground up: a
// folder imports only folders of rules above its own.
var importRules = []importRule{
	{".", "", pure}, // only embeds template.yaml and watch.yaml
	{"events", "", pure},
	{"events/*", "events", pure},

	// What several rooms use.
	{"internal/retry", "", pure},
	{"internal/durable", "", pure},
	{"internal/days", "", pure},
	{"internal/table", "events internal/retry", sdk},
	{"internal/table/*", "events internal/table", sdk},
	{"client", "events internal/retry", alone | testsImportAll},
	{"client/*", "", sdk | testsImportAll},
	{"internal/spreadsheet", "client events", pure},
	{"internal/forward", "client events internal/durable internal/table", testsImportAll},

	// The core: the write side and the read side do not import each other.
	{"ledger", "events internal/days internal/table internal/retry", testsImportAll},
	{"projections", "events internal/table internal/retry", testsImportAll},
	{"projections/rebuild", "events projections internal/table internal/retry", pure},

	// The first wing, which runs in Lambda. No wing imports another.
	{"functions/access", "events", pure},
	{"functions/api", "client events ledger projections functions/access internal/spreadsheet internal/table", sdk | testsImportAll},
	{"functions/api/*", "", sdk},
	{"functions/metrics", "", sdk},
	{"functions/metrics/*", "functions/metrics", pure},
	{"functions/stream", "events projections internal/table", sdk},
	{"functions/stream/*", "functions/stream internal/table", sdk},
	{"functions/app", "client events ledger projections projections/rebuild functions/* internal/forward internal/retry internal/table", sdk},
	{"functions/*", "functions/api functions/app", sdk}, // main packages
	{"functions/forwarder", "client functions/api functions/app internal/forward", sdk | testsImportAll},

	// The second wing, which people use, speaks HTTP only.
	{"internal/desk/units", "client events", pure},
	{"internal/desk/refusals", "", pure},
	{"internal/desk/books", "client events", pure},
	{"internal/desk/importer", "client events", pure},
	{"internal/desk/trial", "client events internal/spreadsheet internal/desk/units", pure},
	{"internal/desk/export", "client events internal/desk/books internal/durable internal/desk/units", pure},
	{"internal/desk/console", "client events internal/days internal/desk/refusals internal/spreadsheet internal/desk/trial internal/desk/units", pure},

	// The third wing, which operators and auditors run, reads the table.
	{"internal/watch/proof", "", pure},                      // auditors check proofs with it, without the ledger
	{"internal/watch/audit", "internal/table", sdk | alone}, // only its layout: see TestAuditSharesOnlyTheLayout
	{"internal/watch/digest", "events projections internal/durable internal/watch/proof internal/table", testsImportAll},
	{"internal/watch/repair", "events projections projections/rebuild internal/table internal/retry", pure},
	{"internal/watch/redrive", "events projections projections/rebuild internal/table internal/retry", pure},
	{"internal/watch/restore", "internal/table", sdk},
	{"internal/watch/lanes", "events internal/table internal/retry", pure},

	// What stands in for AWS.
	{"internal/local/pump", "internal/retry", sdk | testsImportAll},
	{"internal/local/memdb", "internal/table", sdk | testsImportAll},
	{"internal/local/dynamolocal", ". internal/table internal/retry internal/local/pump", sdk | testsImportAll},
	{"internal/local/dynamolocal/*", "internal/local/dynamolocal", sdk | testsImportAll},
	{"internal/local/stack", "functions/api internal/table internal/retry internal/local/*", sdk},

	// Programs, documents and tests.
	{"cmd/ledger-proof", "events internal/watch/proof", pure},
	{"cmd/ledger-bench/meter", "internal/table", sdk | testsImportAll},
	{"cmd/ledger-bench/bench", everything, sdk},
	// Users' program does not link the load.
	{"cmd/ledger", ". client client/* events functions/* internal/* ledger projections projections/*", sdk | testsImportAll},
	{"cmd/*", everything, sdk},
	{"internal/release", "", pure},
	{"docs", "", pure},
	{"tests/harness/full", "", pure},
	{"tests/harness/openapi", "", pure},
	{"tests/harness/inject", "", sdk},
	{"tests/harness/caller", "internal/table", pure},
	{"tests/harness/books", "tests/harness/caller", pure},
	{"tests/harness/process", "internal/local/dynamolocal", pure},
	{"tests/harness/setup", everything, sdk},
	{"tests/harness/system", everything, sdk},
	{"projections/viewstest", everything, sdk}, // for tests
	{"docs/generate", everything, sdk},
	{"tests/*", everything, sdk},
}

// domainFolders are the folders of the domain, in which floating point is forbidden.
var domainFolders = []string{"events", "ledger", "internal/table", "projections"}

// goFile is one Go file of this module.
type goFile struct {
	path string // with slashes, relative to the module's root
	test bool
	ast  *ast.File
	set  *token.FileSet
}

func (f goFile) folder() string { return path.Dir(f.path) }

func (f goFile) at(n ast.Node) string {
	return f.path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
}

// goFiles returns every Go file of the module.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	all, err := parseOnce()
	if err != nil || len(all) < 10 {
		t.Fatalf("%d Go files found from %s, %v", len(all), moduleRoot, err)
	}
	return all
}

var parseOnce = sync.OnceValues(func() (all []goFile, err error) {
	set := token.NewFileSet()
	err = filepath.WalkDir(moduleRoot, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != moduleRoot && (strings.HasPrefix(entry.Name(), ".") ||
			entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(moduleRoot, name)
		all = append(all, goFile{filepath.ToSlash(relative), strings.HasSuffix(name, "_test.go"), file, set})
		return err
	})
	return all, err
})

// folderFits reports whether a folder matches a pattern: it is the pattern, or below a pattern that ends in "/*".
func folderFits(pattern, folder string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(folder, parent+"/")
	}
	return pattern == folder
}

func importRuleOf(folder string) (r importRule, found bool) {
	for _, candidate := range importRules {
		if folderFits(candidate.folder, folder) && (!found || len(candidate.folder) > len(r.folder)) {
			r, found = candidate, true
		}
	}
	return r, found
}

// heightOf is the place of a rule among all rules.
func heightOf(r importRule) int { return slices.Index(importRules, r) }

// Whatever a rule says, no wing imports another, and what people use at the desk reaches the ledger over HTTP only.
func TestWingsDoNotKnowEachOther(t *testing.T) {
	wings := []string{"functions", "internal/desk", "internal/watch"}
	core := []string{"ledger", "projections", "internal/table", "internal/local"}
	isIn := func(rooms []string, folder string) int {
		return slices.IndexFunc(rooms, func(room string) bool { return folder == room || strings.HasPrefix(folder, room+"/") })
	}
	found := make(map[int]bool)
	for _, f := range goFiles(t) {
		wing := isIn(wings, f.folder())
		if found[wing] = true; wing < 0 || f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), modulePath+"/")
			other := isIn(wings, folder)
			if ours && (other >= 0 && other != wing || wings[wing] == "internal/desk" && isIn(core, folder) >= 0) {
				t.Errorf("%s: %s imports %s", f.at(spec), f.folder(), folder)
			}
		}
	}
	for wing, name := range wings {
		if !found[wing] {
			t.Errorf("no file is in the wing %s", name)
		}
	}
}

// Only the forwarder links EventBridge, so that the other functions start as fast as without it. KMS is linked by none.
func TestImportsPointInwards(t *testing.T) {
	const service = "github.com/aws/aws-sdk-go-v2/service/"
	for _, s := range goFiles(t) {
		allowed, ok := importRuleOf(s.folder())
		if !ok {
			t.Errorf("%s: no rule says what %s may import", s.path, s.folder())
			continue
		}
		for _, spec := range s.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(imported, "github.com/aws/") && allowed.also&sdk == 0 {
				t.Errorf("%s: %s imports an SDK: %s", s.at(spec), s.folder(), imported)
			}
			if strings.HasPrefix(imported, service+"kms") ||
				strings.HasPrefix(imported, service+"eventbridge") && s.folder() != "functions/forwarder" {
				t.Errorf("%s: %s imports %s", s.at(spec), s.folder(), imported)
			}
			if s.folder() != "cmd/ledger" && (strings.HasPrefix(imported, "github.com/modelcontextprotocol/") ||
				strings.HasPrefix(imported, service+"cloudwatchlogs")) {
				t.Errorf("%s: %s imports %s, which is for the command line", s.at(spec), s.folder(), imported)
			}
			folder, ours := strings.CutPrefix(imported+"/", modulePath+"/")
			if !ours {
				if host, _, _ := strings.Cut(imported, "/"); allowed.also&alone != 0 && !s.test && strings.Contains(host, ".") &&
					!strings.HasPrefix(imported, "github.com/aws/") && !strings.HasPrefix(imported, "golang.org/x/sync/") {
					t.Errorf("%s: %s imports another module: %s", s.at(spec), s.folder(), imported)
				}
				continue
			}
			folder = path.Clean(folder)
			switch of, ok := importRuleOf(folder); {
			case !mayImport(s, allowed, folder):
				t.Errorf("%s: %s imports %s", s.at(spec), s.folder(), folder)
			case !s.test && (!ok || heightOf(of) > heightOf(allowed)):
				t.Errorf("%s: %s imports %s, which stands above it", s.at(spec), s.folder(), folder)
			}
		}
	}
}

// mayImport reports whether a file may import a folder of this module. A test may also import its own package, package
// full, and folders whose names end in "test" below its own package and below those that it may import.
func mayImport(s goFile, allowed importRule, folder string) bool {
	fits := func(folder string) bool {
		return slices.ContainsFunc(strings.Fields(allowed.imports),
			func(p string) bool { return folderFits(p, folder) })
	}
	if fits(folder) || s.test && allowed.also&testsImportAll != 0 {
		return true
	}
	if !s.test {
		return false
	}
	parent := path.Dir(folder)
	return folder == s.folder() || folder == "tests/harness/full" || strings.HasSuffix(folder, "test") &&
		(parent == s.folder() || fits(parent))
}

// The audit must find what a fault of the ledger's own code did. So it uses no code of package table but its layout: the
// names of attributes and indexes, the patterns of keys, and limits.
func TestAuditSharesOnlyTheLayout(t *testing.T) {
	layout := []string{"attributes.go", "index.go", "itemtypes.go", "limits.go", "pattern.go", "ranges.go"}
	names := make(map[string]bool)
	var audit []goFile
	for _, f := range goFiles(t) {
		switch {
		case f.folder() == "internal/watch/audit":
			audit = append(audit, f)
		case f.folder() == "internal/table" && slices.Contains(layout, path.Base(f.path)):
			for _, d := range f.ast.Decls {
				for _, name := range declared(d) {
					names[name] = true
				}
			}
		}
	}
	for _, f := range audit {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "store" && !names[s.Sel.Name] {
					t.Errorf("%s: the audit uses store.%s, which is not of the layout", f.at(s), s.Sel.Name)
				}
			}
			return true
		})
	}
}

// What is decided of a request is apart from how it is read and attempted: these files of package ledger see no context
// and no table. decide and judge do not even name what has one, and no clock.
func TestDecisionsReadNothing(t *testing.T) {
	pure := strings.Fields("decide.go judge.go draft.go ends.go fields.go fingerprint.go limits.go names.go part.go requests.go shape.go split.go")
	impure := strings.Fields("Ledger command request attempts commit Now Since")
	found := 0
	for _, f := range goFiles(t) {
		name := path.Base(f.path)
		if f.folder() != "ledger" || !slices.Contains(pure, name) {
			continue
		}
		found++
		for _, spec := range f.ast.Imports {
			if i := spec.Path.Value; i == `"context"` || strings.HasPrefix(i, `"`+modulePath+"/internal/") {
				t.Errorf("%s imports %s, but decides without it", f.at(spec), i)
			}
		}
		if name != "decide.go" && name != "judge.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok && slices.Contains(impure, name.Name) {
				t.Errorf("%s names %s, but decides without it", f.at(n), name.Name)
			}
			return true
		})
	}
	if found != len(pure) {
		t.Errorf("%d of these files exist: %v", found, pure)
	}
}

// declared returns the names that a declaration of a package declares.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// Amounts must be exact. So the domain has no floating-point type or parser, and only whole literals (1e6 is whole).
func TestNoFloatsInTheDomain(t *testing.T) {
	floats := []string{"float32", "float64", "complex64", "complex128", "ParseFloat", "Float", "Rat"}
	for _, f := range goFiles(t) {
		if f.test || !slices.Contains(domainFolders, f.folder()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if slices.Contains(floats, n.Name) {
					t.Errorf("%s: %s in the domain", f.at(n), n.Name)
				}
			case *ast.BasicLit:
				if constant.ToInt(constant.MakeFromLiteral(n.Value, n.Kind, 0)).Kind() == constant.Unknown &&
					n.Kind == token.FLOAT {
					t.Errorf("%s: %s in the domain", f.at(n), n.Value)
				}
			}
			return true
		})
	}
}

// Only package full may skip tests, because it prints which tests it skips.
func TestOnlyFullSkips(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.folder() == "tests/harness/full" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow", "Short"},
				s.Sel.Name) {
				if x, ok := s.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "tb" ||
					x.Name == "testing") {
					t.Errorf("%s: %s.%s: call full.Only", f.at(s), x.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
}

// Property tests must draw the same inputs in every run. So their packages must import package full, which sets the
// seed.
func TestPropertyTestsUseTheSameSeed(t *testing.T) {
	draws, seeded := make(map[string]bool), make(map[string]bool)
	for _, f := range goFiles(t) {
		for _, spec := range f.ast.Imports {
			switch spec.Path.Value {
			case `"pgregory.net/rapid"`:
				draws[f.folder()] = draws[f.folder()] || f.test
			case `"` + modulePath + `/tests/harness/full"`:
				seeded[f.folder()] = true
			}
		}
	}
	for folder, inTest := range draws {
		if inTest && !seeded[folder] {
			t.Errorf("the tests of %s use another seed in each run: import %s/tests/harness/full", folder, modulePath)
		}
	}
}

// Package full skips heavy tests and scales down others in the short run only, and panics on an unknown value.
func TestFullSwitch(t *testing.T) {
	const variable = "LEDGER_TESTS"
	t.Setenv(variable, "")
	skipped := false
	t.Run("heavy", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		full.Only(t, "is an example of a heavy test")
		t.Error("a heavy test ran in the short run")
	})
	if !skipped || full.Count(1, 500) != 1 {
		t.Errorf("short run: skipped %v, count %d", skipped, full.Count(1, 500))
	}

	t.Setenv(variable, "full")
	ran := false
	t.Run("heavy", func(t *testing.T) { full.Only(t, "is not printed"); ran = true })
	if !ran || full.Count(time.Second, time.Minute) != time.Minute {
		t.Errorf("full run: ran %v, count %v", ran, full.Count(time.Second, time.Minute))
	}

	t.Setenv(variable, "ful")
	defer func() {
		if recover() == nil {
			t.Error("a misspelt value was accepted")
		}
	}()
	full.Count(1, 2)
}

// Only package spreadsheet writes CSV, so that no text becomes a formula. An export has what is stored.
func TestOneWriterOfCSV(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || f.folder() == "internal/spreadsheet" || f.folder() == "internal/desk/export" || f.folder() == "internal/desk/books" {
			continue
		}
		for _, i := range f.ast.Imports {
			if i.Path.Value == `"encoding/csv"` {
				t.Errorf("%s imports encoding/csv: write CSV with internal/spreadsheet", f.at(i))
			}
		}
	}
}
