package tests

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/ledger/table"
)

// modulePath is the path of this module, moduleRoot the folder that holds it, as seen from this package.
const (
	modulePath = "ledger.example"
	moduleRoot = ".."
)

// An importRule says what the packages of one folder may import of ours, beside what its subfolders are told by their own rules.
type importRule struct {
	imports []string // folders; "…/*" is any below that; "." is the module's root
	sdk     bool     // whether AWS's SDK and the Lambda library may be imported
}

// importRules are by folder; the longest that fits counts. Imports point inwards: what isn't named here is wrong.
var importRules = map[string]importRule{
	".":                  {}, // only carries template.yaml
	"events":             {},
	"ledger":             {imports: []string{"events", "ledger/table"}},
	"ledger/table":       {},
	"ledger/wire":        {imports: []string{"events", "ledger/table"}, sdk: true},
	"ledger/wire/*":      {imports: []string{"events", "ledger/table", "ledger/wire"}, sdk: true},
	"ledger/dynamo":      {imports: []string{"events", "ledger", "ledger/table", "ledger/wire"}, sdk: true},
	"projections":        {imports: []string{"events", "ledger/table"}},
	"ledger/*":           {imports: []string{"events", "ledger", "ledger/table"}}, // such as suites for its ports
	"projections/*":      {imports: []string{"events", "projections", "ledger/table"}},
	"projections/dynamo": {imports: []string{"events", "projections", "ledger/table", "ledger/wire"}, sdk: true},
	"functions/api":      {imports: []string{"events", "ledger", "projections", "ledger/table"}, sdk: true},
	"functions/*":        {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*"}, sdk: true},
	"cmd/*":              {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*", "cmd/*"}, sdk: true},
	"cmd/ledger/audit":   {imports: []string{"ledger/table"}, sdk: true}, // independent of what it audits
	"tests":              {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*", "cmd/*", "tests/*"}, sdk: true},
	"tests/*":            {imports: []string{".", "events", "ledger/table", "functions/*", "cmd/*", "ledger/wire", "tests/*"}, sdk: true},
	"tests/verify":       {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*", "cmd/*", "tests/*"}, sdk: true},
	"tests/scale":        {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*", "cmd/*", "tests/*"}, sdk: true},
	"tests/simulation":   {imports: []string{".", "events", "ledger", "ledger/*", "projections", "projections/*", "functions/*", "cmd/*", "tests/*"}, sdk: true},
	"tests/caller":       {imports: []string{"ledger/table"}},
	"tests/process":      {},
	"tests/books":        {imports: []string{"tests/caller"}},
}

// domainFolders hold the rules of the ledger: no SDK, no floating point.
var domainFolders = []string{"events", "ledger", "ledger/table", "projections"}

// sdkPaths are what "SDK" means above, as beginnings of import paths.
var sdkPaths = []string{"github.com/aws/"}

// topLevel is all that the module's root holds, beside dot files and what is built there.
var topLevel = []string{
	"events", "ledger", "projections", "functions", "cmd", "tests", "docs",
	"template.yaml", "template.go", "samconfig.toml", "Makefile", "README.md", "LICENSE", "go.mod", "go.sum",
}

// maxLines is the length above which a file says why, in a line that begins "// long:" among its first ones.
const maxLines, reasonWithin = 400, 30

// goSource is one Go file of ours.
type goSource struct {
	path string // slashes, from the module's root
	test bool
	text []byte
	file *ast.File
	set  *token.FileSet
}

func (s goSource) folder() string { return path.Dir(s.path) }

func (s goSource) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// goSources parses every Go file of the module.
func goSources(t *testing.T) []goSource {
	t.Helper()
	var all []goSource
	err := filepath.WalkDir(moduleRoot, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base != moduleRoot && (strings.HasPrefix(base, ".") || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(moduleRoot, name)
		if err != nil {
			return err
		}
		all = append(all, goSource{filepath.ToSlash(relative), strings.HasSuffix(name, "_test.go"), text, file, set})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d Go files found from %s", len(all), moduleRoot)
	}
	return all
}

// folderFits tells whether folder is pattern, or below it where that ends in "/*".
func folderFits(pattern, folder string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(folder, parent+"/")
	}
	return pattern == folder
}

func importRuleOf(folder string) (r importRule, found bool) {
	longest := -1
	for pattern, candidate := range importRules {
		if folderFits(pattern, folder) && len(pattern) > longest {
			r, found, longest = candidate, true, len(pattern)
		}
	}
	return r, found
}

func TestImportsPointInwards(t *testing.T) {
	for _, s := range goSources(t) {
		allowed, ok := importRuleOf(s.folder())
		if !ok {
			t.Errorf("%s: no rule says what %s may import", s.path, s.folder())
			continue
		}
		for _, spec := range s.file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			isSDK := slices.ContainsFunc(sdkPaths, func(sdk string) bool { return strings.HasPrefix(imported, sdk) })
			if isSDK && !allowed.sdk {
				t.Errorf("%s: %s imports an SDK: %s", s.at(spec), s.folder(), imported)
			}
			folder, ours := strings.CutPrefix(imported+"/", modulePath+"/")
			if !ours {
				continue
			}
			folder = path.Clean(folder)
			if !mayImport(s, allowed, folder) {
				t.Errorf("%s: %s imports %s", s.at(spec), s.folder(), folder)
			}
		}
	}
}

// mayImport tells whether the rule of a file's folder allows it another of our folders. A test may import its own package,
// and what helps to test that package and those that it may import: the folders in them whose names end in "test".
func mayImport(s goSource, allowed importRule, folder string) bool {
	fits := func(folder string) bool {
		return slices.ContainsFunc(allowed.imports, func(p string) bool { return folderFits(p, folder) })
	}
	if fits(folder) || !s.test {
		return fits(folder)
	}
	parent := path.Dir(folder)
	return folder == s.folder() || strings.HasSuffix(folder, "test") && (parent == s.folder() || fits(parent))
}

func TestTopLevelEntries(t *testing.T) {
	entries, err := os.ReadDir(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	built := regexp.MustCompile(`^\.|^bin$|\.(test|prof|out)$`)
	for _, entry := range entries {
		if name := entry.Name(); !built.MatchString(name) && !slices.Contains(topLevel, name) {
			t.Errorf("%s has no place at the top level", name)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range goSources(t) {
		lines := bytes.Split(s.text, []byte("\n"))
		reasoned := slices.ContainsFunc(lines[:min(reasonWithin, len(lines))], func(line []byte) bool {
			reason, ok := bytes.CutPrefix(line, []byte("// long:"))
			return ok && len(bytes.TrimSpace(reason)) > 0
		})
		testing := s.test || strings.HasSuffix(s.folder(), "test") // a suite of tests for several packages
		if count := len(lines) - 1; !testing && count > maxLines && !reasoned {
			t.Errorf("%s has %d lines and no reason (\"// long: …\") for more than %d", s.path, count, maxLines)
		}
	}
}

// namesOfTheTable matches what only ledger/table may spell: beginnings of keys, names of key attributes and of indexes. In the
// adapters also the names of the other attributes and kinds, which are everyday words elsewhere.
func namesOfTheTable() (everywhere, adapters *regexp.Regexp) {
	var prefixes []string
	for _, key := range []table.Key{
		table.AssetKey(""), table.AccountKey(""), table.TransactionKey(""), table.SpendKey("", ""),
		table.BalanceKey("", ""), table.MembershipKey("", ""),
		{SK: table.UserPK2("")}, {SK: table.PostingPrefix}, {SK: table.GrantPrefix},
		{SK: strings.TrimSuffix(table.SegmentKey("", "", "").SK, "#")},
	} {
		prefixes = append(prefixes, regexp.QuoteMeta(key.SK))
	}
	names := []string{
		table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.IndexHistory, table.IndexInverse,
		table.SummaryKey("").SK,
	}
	words := []string{
		table.AttrType, table.AttrSpent, table.AttrVersion, table.AttrAccount, table.AttrAsset, table.AttrUser,
		table.AttrBase, table.AttrSeal, table.AttrHead, table.AttrUnfinished, table.AttrFirst, table.AttrAfter,
		table.AttrThrough, table.AttrCredits, table.AttrDebits, table.AttrExpenditure, table.AttrCount,
		table.AttrAssets, table.AttrHoldings, table.AttrRole, table.AttrNumber, table.AttrEventVersion,
		table.KindSpend, table.KindBalance, table.KindSegment, table.KindSummary, table.KindMembership,
	}
	everywhere = regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b|(^|\W)(` + strings.Join(prefixes, "|") + `)`)
	adapters = regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)\b`)
	return everywhere, adapters
}

func TestOnlyTheTablePackageSpellsItsNames(t *testing.T) {
	everywhere, adapters := namesOfTheTable()
	for _, s := range goSources(t) {
		if s.test || s.folder() == "ledger/table" {
			continue
		}
		inAdapter := slices.Contains([]string{"ledger/wire", "ledger/dynamo", "projections/dynamo"}, s.folder())
		imports := make(map[*ast.BasicLit]bool)
		for _, spec := range s.file.Imports {
			imports[spec.Path] = true
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || imports[literal] {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if everywhere.MatchString(text) || inAdapter && adapters.MatchString(text) {
				t.Errorf("%s spells %q, which is ledger/table's", s.at(literal), text)
			}
			return true
		})
	}
}

// Every expression of the domain is looked at by its final type: 1e6 where a whole number is wanted is one.
func TestNoFloatsInTheDomain(t *testing.T) {
	compiled := exports(t)
	set := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[path])
	})}
	for _, folder := range domainFolders {
		var files []*ast.File
		for _, s := range goSources(t) {
			if s.folder() != folder || s.test {
				continue
			}
			file, err := parser.ParseFile(set, s.path, s.text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
		if _, err := config.Check(modulePath+"/"+folder, set, files, &info); err != nil {
			t.Fatal(err)
		}
		for expression, typed := range info.Types {
			basic, ok := typed.Type.Underlying().(*types.Basic)
			if ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0 {
				t.Errorf("%s: a %s in the domain", set.Position(expression.Pos()), basic)
			}
		}
	}
}

// exports compiles the domain and returns the file of export data of each package that it is made of.
func exports(t *testing.T) map[string]string {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, folder := range domainFolders {
		args = append(args, modulePath+"/"+folder)
	}
	list := exec.Command("go", args...)
	list.Dir = moduleRoot
	var failure strings.Builder
	list.Stderr = &failure
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, failure.String())
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = file
	}
	return files
}
