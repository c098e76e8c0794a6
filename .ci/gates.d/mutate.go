// Command mutate changes the product in the current folder, one change at a time.
//
//	mutate draw SEED N DIR      prints N mutants that compile, with room for files in DIR
//	mutate apply SAMPLE DIR     reads such mutants, finds them in the current code, writes the changed file of each to
//	                            DIR/NUMBER.go, and prints where it is
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var product = strings.Fields("./events/... ./ledger/... ./projections/... ./internal/... ./functions/... " +
	"./client/... ./cmd/...")

// moved says which folder each folder of an older commit became: two names on a line.
//
//go:embed moved.txt
var moved string

// mutant is one change. It is found by its function, the text of its line and the change itself, so that it can be
// applied after the code has moved.
type mutant struct {
	File, Func, Text string // the file is relative to the root, the text is the line's
	Op, Old, New     string
	Nth              int // among equal ones in the function
	Line, Covered    int // Covered is executed whenever Line is; a profile has no count for the conditions of a case

	from, to int // bytes of source
	source   []byte
}

func (m mutant) key() string {
	return fmt.Sprintf("%s|%s|%s|%s|%d", m.Func, m.Text, m.Old, m.New, m.Nth)
}

// moved returns where the mutant is after the folders moved: its file, and the names of packages in its text.
func (m mutant) moved() mutant {
	for line := range strings.Lines(moved) {
		names := strings.Fields(line)
		was, is := path.Base(names[0])+".", path.Base(names[1])+"."
		qualifier := regexp.MustCompile(`\b` + regexp.QuoteMeta(was) + `([A-Z])`)
		for _, text := range []*string{&m.Text, &m.Old, &m.New} {
			*text = qualifier.ReplaceAllString(*text, is+"$1")
		}
		if path.Dir(m.File) == names[0] {
			m.File = path.Join(names[1], path.Base(m.File))
		}
	}
	return m
}

func (m mutant) write(file string) {
	must(0, os.WriteFile(file, slices.Concat(m.source[:m.from], []byte(m.New), m.source[m.to:]), 0o666))
}

func main() {
	log.SetFlags(0)
	out := json.NewEncoder(os.Stdout)
	switch a := os.Args[1:]; {
	case len(a) == 4 && a[0] == "draw":
		for _, m := range draw(must(strconv.ParseUint(a[1], 10, 64)), must(strconv.Atoi(a[2])), a[3]) {
			must(0, out.Encode(m))
		}
	case len(a) == 3 && a[0] == "apply":
		found := make(map[string][]mutant)
		for _, m := range mutants() {
			found[m.key()] = append(found[m.key()], m)
		}
		sample := json.NewDecoder(must(os.Open(a[1])))
		for i := 0; sample.More(); i++ {
			var wanted mutant
			must(0, sample.Decode(&wanted))
			m := mutant{}
			for _, wanted := range []mutant{wanted, wanted.moved()} {
				for _, m = range found[wanted.key()] {
					if filepath.Dir(m.File) == filepath.Dir(wanted.File) {
						break // else the last one: the function has moved to another package
					}
				}
				if m.File != "" {
					break
				}
			}
			if m.File != "" {
				m.write(filepath.Join(a[2], fmt.Sprint(i, ".go")))
			}
			must(0, out.Encode(m))
		}
	default:
		log.Fatal("usage: mutate draw SEED N DIR | mutate apply SAMPLE DIR")
	}
}

// draw returns n mutants that compile. Each line of the product that can be mutated has the same chance.
func draw(seed uint64, n int, dir string) (drawn []mutant) {
	lines := make(map[string][]mutant)
	for _, m := range mutants() {
		at := fmt.Sprintf("%s:%06d", m.File, m.Line)
		lines[at] = append(lines[at], m)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	order := slices.Sorted(maps.Keys(lines))
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	file, overlay := filepath.Join(dir, "drawn.go"), filepath.Join(dir, "drawn.json")
	for _, at := range order {
		m := lines[at][random.IntN(len(lines[at]))]
		m.write(file)
		must(0, os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, must(filepath.Abs(m.File)), file), 0o666))
		build := exec.Command("go", "build", "-o", os.DevNull, "-overlay", overlay, "./"+filepath.Dir(m.File))
		if build.Run() != nil {
			continue // for example a variable that is now unused
		}
		if drawn = append(drawn, m); len(drawn) == n {
			break
		}
	}
	return drawn
}

// mutants returns all mutants of the product, by file and line.
func mutants() (all []mutant) {
	list := []string{"list", "-f", `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`}
	out := must(exec.Command("go", append(list, product...)...).Output())
	for _, name := range strings.Fields(string(out)) {
		source, files := must(os.ReadFile(name)), token.NewFileSet()
		parsed := must(parser.ParseFile(files, name, source, parser.SkipObjectResolution|parser.ParseComments))
		file := must(filepath.Rel(must(filepath.Abs(".")), name))
		if strings.HasSuffix(filepath.Dir(file), "test") || ast.IsGenerated(parsed) {
			continue
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				f := finder{mutant{File: file, source: source}, files, make(map[string]int), nil}
				f.function(d)
				all = append(all, f.found...)
			}
		}
	}
	return all
}

// finder finds the mutants of one function.
type finder struct {
	base  mutant
	files *token.FileSet
	seen  map[string]int
	found []mutant
}

func (f *finder) text(n ast.Node) string {
	return string(f.base.source[f.files.Position(n.Pos()).Offset:f.files.Position(n.End()).Offset])
}

func (f *finder) add(op string, from, to token.Pos, changed string) {
	m, start := f.base, f.files.Position(from)
	m.Op, m.New, m.Line, m.from, m.to = op, changed, start.Line, start.Offset, f.files.Position(to).Offset
	m.Old, m.Text = string(m.source[m.from:m.to]), strings.TrimSpace(strings.Split(string(m.source), "\n")[m.Line-1])
	if m.Covered == 0 {
		m.Covered = m.Line
	}
	f.seen[m.key()]++
	m.Nth = f.seen[m.key()]
	f.found = append(f.found, m)
}

var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ,
	token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
}

func (f *finder) function(d *ast.FuncDecl) {
	if f.base.Func = d.Name.Name; d.Recv != nil {
		f.base.Func = strings.TrimLeft(f.text(d.Recv.List[0].Type), "*") + "." + d.Name.Name
	}
	fails := false // its last result is an error
	if d.Type.Results != nil {
		var zeros []string
		for _, r := range d.Type.Results.List {
			zeros = append(zeros, slices.Repeat([]string{"*new(" + f.text(r.Type) + ")"}, max(1, len(r.Names)))...)
		}
		if last := len(zeros) - 1; zeros[last] == "*new(error)" {
			fails, zeros[last] = true, "nil"
			early := "if true { return " + strings.Join(zeros, ", ") + " };"
			f.add("return nil early", d.Body.Lbrace+1, d.Body.Lbrace+1, early)
		}
	}
	ast.PreorderStack(d.Body, nil, func(n ast.Node, stack []ast.Node) bool {
		depth, literals := 0, 0 // depth counts the blocks in the innermost function
		f.base.Covered = 0
		for i, s := range append(stack, n) {
			switch s := s.(type) {
			case *ast.BlockStmt, *ast.CommClause:
				depth++
			case *ast.CaseClause:
				if depth++; n.Pos() < s.Colon && i >= 2 {
					f.base.Covered = f.files.Position(stack[i-2].Pos()).Line // the switch
				}
			case *ast.FuncLit:
				depth, literals = 0, literals+1
			}
		}
		switch x := n.(type) {
		case *ast.BlockStmt:
			f.statements(x.List, depth)
		case *ast.CaseClause:
			f.base.Covered = 0
			f.statements(x.Body, depth)
		case *ast.CommClause:
			f.statements(x.Body, depth)
		case *ast.IfStmt:
			f.add("negate a condition", x.Cond.Pos(), x.Cond.End(), "!("+f.text(x.Cond)+")")
		case *ast.BinaryExpr:
			if to, ok := swaps[x.Op]; ok {
				f.add("swap an operator", x.OpPos, x.OpPos+token.Pos(len(x.Op.String())), to.String())
			}
		case *ast.BasicLit:
			if x.Kind == token.INT {
				f.add("one off", x.Pos(), x.End(), "("+x.Value+" + 1)")
			}
		case *ast.ReturnStmt:
			if k := len(x.Results) - 1; k >= 0 && fails && literals == 0 && f.text(x.Results[k]) != "nil" {
				f.add("return nil for an error", x.Results[k].Pos(), x.Results[k].End(), "nil")
			}
		}
		return true
	})
}

func (f *finder) statements(list []ast.Stmt, depth int) {
	for _, s := range list {
		switch x := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.SendStmt:
			f.add("drop a statement", s.Pos(), s.End(), "")
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				f.add("drop a statement", s.Pos(), s.End(), "")
			}
		case *ast.ReturnStmt, *ast.BranchStmt:
			if depth > 1 {
				f.add("remove an early return", s.Pos(), s.End(), "")
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
