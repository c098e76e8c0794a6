package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folders have the code that rules name, by package.
var folders = map[string]string{
	"events": "events", "ledger": "ledger", "projections": "projections", "rebuild": "projections/rebuild",
}

var (
	flagName     = regexp.MustCompile(`\bNO_[A-Z_]+\b`)
	testedFlag   = regexp.MustCompile(`(?m)^#ifn?def (NO_[A-Z_]+)$`)
	propertyList = regexp.MustCompile(`(?m)^bool ((?:\w+, )*\w+); +/\* false for ever`)
	property     = regexp.MustCompile(`assert\((\w+) \|\| `)
	quoted       = regexp.MustCompile(`"([^"]+)"`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+?)(?: \(G\d+(?:, G\d+)*\))?$`)
)

// TestRulesAreListed checks, also without SPIN, that the models, the table of rules and the code agree.
func TestRulesAreListed(t *testing.T) {
	rules, _ := readRules(t)
	models, declared := readModels(t), declaredFunctions(t)
	for _, r := range rules {
		if _, ok := models[r.model]; !ok {
			t.Errorf("%s: no model has the name %s", r.flag, r.model)
		}
		if len(r.code) == 0 || r.unstated {
			t.Errorf("%s %s: the row does not name the code, or does not say what goes wrong", r.model, r.flag)
		}
		for _, name := range r.code {
			if !declared[name] {
				t.Errorf("%s %s: there is no function %s", r.model, r.flag, name)
			}
		}
	}
	titles, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range models {
		checkModel(t, name, text, rules)
		header, _, _ := strings.Cut(text, "\n\n")
		for _, of := range quoted.FindAllStringSubmatch(strings.ReplaceAll(header, "\n   ", " "), -1) {
			if !slices.ContainsFunc(heading.FindAllStringSubmatch(string(titles), -1), func(h []string) bool { return h[1] == of[1] }) {
				t.Errorf("%s: docs/design.md has no paragraph %q", name, of[1])
			}
		}
	}
	ci, err := os.ReadFile(filepath.Join(moduleRoot, ".ci", "run"))
	if err != nil || !strings.Contains(string(ci), "\n  need spin spin ") {
		t.Errorf(".ci/run does not need spin, so it would skip the models: %v", err)
	}
}

// checkModel checks that a model and its rules in the table agree.
func checkModel(t *testing.T, name, text string, rules []rule) {
	t.Helper()
	if lines := strings.Count(text, "\n"); lines > modelLines {
		t.Errorf("%s has %d lines, more than %d", name, lines, modelLines)
	}
	if !strings.HasPrefix(text, "/* ") || !strings.Contains(text, "docs/design.md") || !strings.Contains(text, "\n   Left out: ") {
		t.Errorf("%s: its header does not say what it checks and what it leaves out", name)
	}
	var flags, properties, broken, asserted []string
	for _, r := range rules {
		if r.model == name {
			flags, broken = append(flags, r.flag), append(broken, r.breaks)
		}
	}
	if list := propertyList.FindStringSubmatch(text); list != nil {
		properties = strings.Split(list[1], ", ")
	}
	var tested []string
	for _, flag := range testedFlag.FindAllStringSubmatch(text, -1) {
		tested = append(tested, flag[1])
	}
	for _, p := range property.FindAllStringSubmatch(text, -1) {
		asserted = append(asserted, p[1])
	}
	if strings.Count(text, "assert(") != len(asserted) {
		t.Errorf("%s: an assertion names no property", name)
	}
	sameSet(t, name+": rules in the model and in the table", tested, flags)
	sameSet(t, name+": properties that are asserted, and that a rule breaks", asserted, broken)
	sameSet(t, name+": properties that are declared, and that are asserted", properties, asserted)
	for _, flag := range flagName.FindAllString(text, -1) {
		if flag != "NO_RULE" && !slices.Contains(tested, flag) {
			t.Errorf("%s: %s is no line #ifdef or #ifndef", name, flag)
		}
	}
}

func sameSet(t *testing.T, what string, a, b []string) {
	t.Helper()
	set := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return slices.Compact(s) }
	if !slices.Equal(set(a), set(b)) {
		t.Errorf("%s:\n%v\n%v", what, set(a), set(b))
	}
}

// declaredFunctions returns the functions and methods of folders, as rules name them.
func declaredFunctions(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	for name, folder := range folders {
		files, _ := filepath.Glob(filepath.Join(moduleRoot, folder, "*.go")) // the pattern is valid
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					declared[name+"."+receiver(f)+f.Name.Name] = true
				}
			}
		}
	}
	return declared
}

// receiver returns the type of a method with a dot, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if generic, ok := of.(*ast.IndexListExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
