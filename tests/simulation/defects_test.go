package simulation

import (
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

	"ledger.example/tests/full"
)

// A defect is a rule taken out of the product's own code, in a copy of it: the histories must find that. Where the code
// changes so that its passage is not there once, the test fails, and the defect is to be written anew.
type defect struct {
	name, guarantee string
	file            string // from the module's root
	finder
	// code is a passage of the file. What stands in «» is put there, and what stands in ‹› is left out. planted is true
	// while the defect is switched on.
	code string
}

// finder is the test that must find a defect: within so many histories, or directed, which is 0.
type finder struct {
	folder, test string
	within       int
}

func inHistories(within int) finder       { return finder{"tests/simulation", "TestHistories", within} }
func inLives(within int) finder           { return finder{"tests/simulation", "TestLives", within} }
func directed(folder, test string) finder { return finder{folder, test, 0} }

// Of a defect's passage: what is put into it, what is left out, and the switch.
var (
	inserted   = regexp.MustCompile(`«[^»]*»`)
	removed    = regexp.MustCompile(`‹[^›]*›`)
	marks      = regexp.MustCompile(`[«»‹›]`)
	switchName = regexp.MustCompile(`\bplanted\b`)
)

// passage is the passage as it is, and with the defect.
func (d defect) passage() (sound, broken string) {
	sound = marks.ReplaceAllString(inserted.ReplaceAllString(d.code, ""), "")
	broken = inserted.ReplaceAllStringFunc(removed.ReplaceAllString(d.code, ""), func(code string) string {
		return switchName.ReplaceAllString(code, fmt.Sprintf("planted(%q)", d.name))
	})
	return sound, marks.ReplaceAllString(broken, "")
}

// plantedFile is what each package with a defect gets: the switch, by the environment of the test's binary.
const plantedFile = `package %s

import "os"

func planted(name string) bool { return os.Getenv("LEDGER_PLANTED") == name }
`

var moduleRoot = filepath.Join("..", "..")

// plant builds the tests of each package that must find a defect, with every defect in them behind its switch. Binaries
// are by folder.
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
				t.Error(err)
			}
			text = string(original)
		}
		sound, broken := d.passage()
		if n := strings.Count(text, sound); n != 1 {
			t.Errorf("defect %s: %s has %d of %q, not one", d.name, d.file, n, sound)
		}
		texts[d.file] = strings.Replace(text, sound, broken, 1)
	}
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

// run runs the test that must find the defect, with the defect of a name switched on.
func (d defect) run(binary, planted string) ([]byte, error) {
	arguments := []string{"-test.run=^" + d.test + "$", "-test.cpu=1"}
	if d.within > 0 {
		arguments = append(arguments, "-shrink=false", fmt.Sprintf("-histories=%d", d.within))
	}
	c := exec.Command(binary, arguments...)
	c.Dir = filepath.Join(moduleRoot, d.folder)
	c.Env = append(os.Environ(), "LEDGER_PLANTED="+planted)
	return c.CombinedOutput()
}

// TestDefects plants each defect, and sees its test go red within the stated number of histories; and green with all of
// them planted and none switched on.
func TestDefects(t *testing.T) {
	full.Only(t, "plants defects in copies of the code, and looks for each")
	binaries := plant(t)
	sound := map[string]bool{}
	for _, d := range defects {
		if !sound[d.folder+d.test] {
			sound[d.folder+d.test] = true
			t.Run("none, "+d.test, func(t *testing.T) {
				t.Parallel()
				if out, err := d.run(binaries[d.folder], ""); err != nil {
					t.Fatalf("it fails without a defect: %s", out)
				}
			})
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			out, err := d.run(binaries[d.folder], d.name)
			if err == nil {
				t.Fatalf("%s is not missed: %d histories came out right with\n%s", d.guarantee, d.within, d.code)
			}
			telling := `seed \d+: .*` // how histories fail
			if d.within == 0 {
				telling = "--- FAIL: " + d.test + `(?s:.*)_test\.go:\d+: .*`
			}
			found := regexp.MustCompile(telling).Find(out)
			if found == nil {
				t.Fatalf("it failed otherwise: %s", out)
			}
			t.Logf("%s", found)
		})
	}
}

// TestDefectsAreListed holds the table of docs/testing.md to the defects: people read that.
func TestDefectsAreListed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range defects {
		within := "directed"
		if d.within > 0 {
			within = strconv.Itoa(d.within)
		}
		row := fmt.Sprintf("| %s | %s | %s, %s | %s |", d.guarantee, d.name, strings.TrimPrefix(d.folder, "tests/"), d.test,
			within)
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/testing.md lacks the row\n%s", row)
		}
	}
}
