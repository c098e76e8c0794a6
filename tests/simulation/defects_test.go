package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
)

// A defect breaks one rule in a copy of the product's code. A test must then fail. If the code changes so that the
// passage no longer occurs exactly once, rewrite the passage. See testdata/defects.txt.
type defect struct {
	name   string
	file   string // path from the module's root
	code   string // a passage of the file, with the marks «» and ‹›
	folder string // of the test that must find the defect
	test   string
	within int // number of histories; 0: a directed test
}

// defectRow is a row of the table of defects in docs/testing.md. tests/spec checks the rules of models in it.
var defectRow = regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]+) \| ([a-z/]+), (Test\w+) \| (\d+|directed) \| [^|]+ \|$`)

// readDefects returns the defects of docs/testing.md, with their passages.
func readDefects(t *testing.T) (defects []defect) {
	t.Helper()
	table, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	passages, err := os.ReadFile(filepath.Join("testdata", "defects.txt"))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]defect{}
	for _, one := range strings.Split(strings.TrimSuffix(string(passages), "\n"), "\n# ")[1:] {
		title, code, _ := strings.Cut(one, "\n")
		name, file, _ := strings.Cut(title, ": ")
		byName[name] = defect{name: name, file: file, code: code}
	}
	for _, row := range defectRow.FindAllStringSubmatch(string(table), -1) {
		d, ok := byName[row[1]]
		if !ok {
			t.Errorf("defect %q has no passage", row[1])
		}
		delete(byName, row[1])
		d.folder, d.test = row[2], row[3]
		if _, err := os.Stat(filepath.Join(moduleRoot, d.folder)); err != nil {
			d.folder = path.Join("tests", d.folder)
		}
		d.within, _ = strconv.Atoi(row[4]) // 0: directed
		defects = append(defects, d)
	}
	for name := range byName {
		t.Errorf("docs/testing.md lacks defect %q", name)
	}
	return defects
}

// Patterns in a defect's passage.
var (
	inserted   = regexp.MustCompile(`«[^»]*»`)
	removed    = regexp.MustCompile(`‹[^›]*›`)
	marks      = regexp.MustCompile(`[«»‹›]`)
	switchName = regexp.MustCompile(`\bplanted\b`)
)

// passage returns the passage as it is in the file, and with the defect.
func (d defect) passage() (sound, broken string) {
	sound = marks.ReplaceAllString(inserted.ReplaceAllString(d.code, ""), "")
	broken = inserted.ReplaceAllStringFunc(removed.ReplaceAllString(d.code, ""), func(code string) string {
		return switchName.ReplaceAllString(code, fmt.Sprintf("planted(%q)", d.name))
	})
	return sound, marks.ReplaceAllString(broken, "")
}

// plantedFile is added to each package with a defect. The environment of the test binary switches one defect on.
const plantedFile = `package %s

import "os"

func planted(name string) bool { return os.Getenv("LEDGER_PLANTED") == name }
`

var moduleRoot = filepath.Join("..", "..")

// plantedTexts returns the files with defects, by path, with every defect in them. Passages that do not occur exactly
// once fail the test.
func plantedTexts(t *testing.T, defects []defect) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, d := range defects {
		text, ok := texts[d.file]
		if !ok {
			original, err := os.ReadFile(filepath.Join(moduleRoot, d.file))
			if err != nil {
				t.Error(err)
			}
			text = string(original)
		}
		sound, broken := d.passage()
		if n := strings.Count(text, sound); n != 1 {
			t.Errorf("defect %q: the passage occurs %d times in %s, not once:\n%s", d.name, n, d.file, sound)
		}
		texts[d.file] = strings.Replace(text, sound, broken, 1)
	}
	return texts
}

// plant builds the tests of each package that must find a defect, with all defects switched off. The binaries are by
// folder.
func plant(t *testing.T, defects []defect) (binaries map[string]string) {
	t.Helper()
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	texts, replaced := plantedTexts(t, defects), map[string]string{}
	if t.Failed() {
		t.FailNow()
	}
	write := func(target, text string) {
		copied := filepath.Join(folder, fmt.Sprintf("%d.go", len(replaced)))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(root, target)] = copied
	}
	packageName := regexp.MustCompile(`(?m)^package (\w+)`)
	for file, text := range texts {
		write(file, text)
		if switchFile := path.Join(path.Dir(file), "planted.go"); replaced[filepath.Join(root, switchFile)] == "" {
			write(switchFile, fmt.Sprintf(plantedFile, packageName.FindStringSubmatch(text)[1]))
		}
	}
	overlay := filepath.Join(folder, "overlay.json")
	listed, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, listed, 0o600); err != nil {
		t.Fatal(err)
	}
	binaries = map[string]string{}
	for _, d := range defects {
		if binaries[d.folder] != "" {
			continue
		}
		binaries[d.folder] = filepath.Join(folder, strings.ReplaceAll(d.folder, "/", ".")+".test")
		c := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binaries[d.folder], "./"+d.folder)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build with the defects: %v\n%s", err, out)
		}
	}
	return binaries
}

// run runs the test that must find the defect, with the named defect switched on; empty: none. A directed test finds it
// in the short run.
func (d defect) run(binary, planted string) ([]byte, error) {
	arguments := []string{"-test.run=^" + d.test + "$", "-test.cpu=1"}
	if d.within > 0 {
		arguments = append(arguments, "-shrink=false", fmt.Sprintf("-histories=%d", d.within))
	}
	c := exec.Command(binary, arguments...)
	c.Dir = filepath.Join(moduleRoot, d.folder)
	c.Env = append(os.Environ(), "LEDGER_PLANTED="+planted, full.Variable+"=")
	return c.CombinedOutput()
}

// TestDefects switches on each defect in turn, and requires that its test fails within the stated number of histories.
// With all defects switched off, the tests must pass.
func TestDefects(t *testing.T) {
	full.Only(t, "plants defects in copies of the code, and requires that tests find them")
	defects := readDefects(t)
	binaries := plant(t, defects)
	sound := map[string]bool{}
	for _, d := range defects {
		if !sound[d.folder+d.test] {
			sound[d.folder+d.test] = true
			t.Run("none, "+d.test, func(t *testing.T) {
				t.Parallel()
				if out, err := d.run(binaries[d.folder], ""); err != nil {
					t.Fatalf("the test fails without a defect: %s", out)
				}
			})
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			out, err := d.run(binaries[d.folder], d.name)
			if err == nil {
				t.Fatalf("the defect is not found: %s passes in %d histories with\n%s", d.test, d.within, d.code)
			}
			failure := `seed \d+: .*` // the message of a failing history
			if d.within == 0 {
				failure = "--- FAIL: " + d.test + `(?s:.*)_test\.go:\d+: .*`
			}
			found := regexp.MustCompile(failure).Find(out)
			if found == nil {
				t.Fatalf("the test failed for another reason: %s", out)
			}
			t.Logf("%s", found)
		})
	}
}

// TestDefectsAreListed checks, in the short run, that the passages and the tests of the defects exist.
func TestDefectsAreListed(t *testing.T) {
	defects := readDefects(t)
	plantedTexts(t, defects)
	for _, d := range defects {
		files, _ := filepath.Glob(filepath.Join(moduleRoot, d.folder, "*_test.go")) // the pattern is valid
		if !slices.ContainsFunc(files, func(file string) bool {
			code, _ := os.ReadFile(file)
			return strings.Contains(string(code), "\nfunc "+d.test+"(")
		}) {
			t.Errorf("defect %q: %s has no %s", d.name, d.folder, d.test)
		}
	}
}
