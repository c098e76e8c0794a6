package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A defect is a rule taken out of the product's own code, in a copy of it: the histories must find that. Where the code
// changes so that old is not there once, the test fails, and the defect is to be written anew.
type defect struct {
	name      string
	guarantee string
	file      string // from the module's root
	old, new  string // new names the switch: planted("name")
	by        string // the test that must find it, as package.Test; "": TestHistories of this package
	within    int    // histories that must find it; 0: withinUsual. A test by another name has none
}

// folds are the histories of refolds alone, in finer steps: requests of one process come between any two of another.
const folds = "projections.TestHistories"

// plantedFile is what each package with a defect gets: the switch, by the environment of the test's binary.
const plantedFile = `package %s

import "os"

func planted(name string) bool { return os.Getenv("LEDGER_PLANTED") == name }
`

// withinUsual is how many histories must find a defect that is not a rare one.
const withinUsual = 10

var moduleRoot = filepath.Join("..", "..")

// plant builds the tests of each package that must find a defect, with every defect in them behind its switch. Binaries are by
// folder.
func plant(t *testing.T) (binaries map[string]string) {
	t.Helper()
	root, err := filepath.Abs(moduleRoot)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	texts, replaced := map[string]string{}, map[string]string{}
	for _, d := range defects {
		text, ok := texts[d.file]
		if !ok {
			original, err := os.ReadFile(filepath.Join(root, d.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(original)
		}
		if n := strings.Count(text, d.old); n != 1 {
			t.Fatalf("defect %s: %s has %d of %q, not one", d.name, d.file, n, d.old)
		}
		if !strings.Contains(d.new, fmt.Sprintf("planted(%q)", d.name)) {
			t.Fatalf("defect %s is not behind its switch", d.name)
		}
		texts[d.file] = strings.Replace(text, d.old, d.new, 1)
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
		tested := d.tested()
		if binaries[tested] != "" {
			continue
		}
		binaries[tested] = filepath.Join(folder, strings.ReplaceAll(tested, "/", ".")+".test")
		c := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binaries[tested], "./"+tested)
		c.Dir = root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build with the defects: %v\n%s", err, out)
		}
	}
	return binaries
}

// tested is the folder whose test must find the defect.
func (d defect) tested() string {
	if folder, _, ok := strings.Cut(d.by, "."); ok {
		return folder
	}
	return "tests/simulation"
}

// play runs the test that must find the defect, in so many histories, with the defect of a name switched on.
func (d defect) play(binary, planted string, histories int) ([]byte, error) {
	_, test, _ := strings.Cut(d.by, ".")
	arguments := []string{"-test.run=^" + cmp.Or(test, "TestHistories") + "$", "-test.cpu=1"}
	if d.by == "" {
		arguments = append(arguments, "-shrink=false", fmt.Sprintf("-histories=%d", histories))
	}
	c := exec.Command(binary, arguments...)
	c.Dir = filepath.Join(moduleRoot, d.tested())
	c.Env = append(os.Environ(), "LEDGER_PLANTED="+planted, fmt.Sprintf("HISTORIES=%d", histories))
	return c.CombinedOutput()
}

// TestDefects plants each defect, and sees its test go red within the stated number of histories; and green with all of
// them planted and none switched on.
func TestDefects(t *testing.T) {
	binaries := plant(t)
	sound := map[string]bool{}
	for _, d := range defects {
		if sound[d.by] {
			continue
		}
		sound[d.by] = true
		t.Run("none, "+cmp.Or(d.by, "histories"), func(t *testing.T) {
			t.Parallel()
			if out, err := d.play(binaries[d.tested()], "", cmp.Or(d.within, withinUsual)); err != nil {
				t.Fatalf("it fails without a defect: %s", out)
			}
		})
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			within := cmp.Or(d.within, withinUsual)
			out, err := d.play(binaries[d.tested()], d.name, within)
			if err == nil {
				t.Fatalf("%s is not missed: %d histories came out right with\n%s", d.guarantee, within, d.new)
			}
			telling := `seed \d+: .*` // how histories fail
			if _, test, _ := strings.Cut(d.by, "."); d.by != "" && d.by != folds {
				telling = "--- FAIL: " + test + `(?s:.*)_test\.go:\d+: .*`
			}
			found := regexp.MustCompile(telling).Find(out)
			if found == nil {
				t.Fatalf("it failed otherwise: %s", out)
			}
			t.Logf("%s", found)
		})
	}
}

// TestDefectsAreListed holds the table in the README of all tests to the defects: people read that.
func TestDefectsAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		by, within := "simulation, TestHistories", strconv.Itoa(cmp.Or(d.within, withinUsual))
		if folder, test, ok := strings.Cut(d.by, "."); ok {
			by = strings.TrimPrefix(folder, "tests/") + ", " + test
			if d.by != folds {
				within = "directed"
			}
		}
		row := fmt.Sprintf("| %s | %s | %s | %s |", d.guarantee, d.name, by, within)
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("tests/README.md lacks the row\n%s", row)
		}
	}
}
