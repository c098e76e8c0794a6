package tests

import (
	"go/ast"
	"strings"
	"testing"
)

// Only a main ends the process, and nothing happens because a package was imported.
func TestOnlyMainsExitAndNothingInits(t *testing.T) {
	for _, s := range goSources(t) {
		for _, declaration := range s.file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", s.at(f))
			}
		}
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		for _, call := range selectorsIn(s.file) {
			if call.pkg == "os" && call.name == "Exit" ||
				call.pkg == "log" && (strings.HasPrefix(call.name, "Fatal") || strings.HasPrefix(call.name, "Panic")) {
				t.Errorf("%s: %s.%s outside a main", s.at(call.node), call.pkg, call.name)
			}
		}
	}
}

// A test that is skipped, or that hopes that something has happened by now, proves nothing. Between two looks in a loop a
// test may sleep, and for as long as it likes on the simulated clock of testing/synctest, which a package's tests share.
func TestTestsNeitherSkipNorSleep(t *testing.T) {
	sources := goSources(t)
	simulated := map[string]bool{} // folders whose tests run on a simulated clock
	for _, s := range sources {
		for _, spec := range s.file.Imports {
			if s.test && spec.Path.Value == `"testing/synctest"` {
				simulated[s.folder()] = true
			}
		}
	}
	for _, s := range sources {
		if !s.test && !folderFits("tests/*", s.folder()) { // what tests are made of
			continue
		}
		polling := make(map[ast.Node]bool)
		ast.Inspect(s.file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.ForStmt); ok {
				for _, call := range selectorsIn(loop) {
					polling[call.node] = true
				}
			}
			return true
		})
		for _, call := range selectorsIn(s.file) {
			switch call.name {
			case "Skip", "Skipf", "SkipNow":
				t.Errorf("%s: %s.%s: fail with the remedy instead", s.at(call.node), call.pkg, call.name)
			case "Sleep":
				if call.pkg == "time" && !polling[call.node] && !simulated[s.folder()] {
					t.Errorf("%s: time.Sleep: poll with a deadline instead", s.at(call.node))
				}
			}
		}
	}
}

// packageSelector is one pkg.name in a file.
type packageSelector struct {
	pkg, name string
	node      ast.Node
}

func selectorsIn(root ast.Node) (found []packageSelector) {
	ast.Inspect(root, func(n ast.Node) bool {
		if expression, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := expression.X.(*ast.Ident); ok {
				found = append(found, packageSelector{x.Name, expression.Sel.Name, expression})
			}
		}
		return true
	})
	return found
}
