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
	within    int    // histories that must find it; 0: withinUsual
	first     uint64 // the seed of the first, for one that a directed history finds
}

// plantedFile is what each package with a defect gets: the switch, by the environment of the test's binary.
const plantedFile = `package %s

import "os"

func planted(name string) bool { return os.Getenv("LEDGER_PLANTED") == name }
`

// withinUsual is how many histories must find a defect that is not a rare one.
const withinUsual = 200

var moduleRoot = filepath.Join("..", "..")

// plant builds this package's tests with every defect in them, each behind its switch.
func plant(t *testing.T) (binary string) {
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
	binary = filepath.Join(folder, "planted.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build with the defects: %v\n%s", err, out)
	}
	return binary
}

// TestDefects plants each defect, and sees the histories go red within the stated number.
func TestDefects(t *testing.T) {
	binary := plant(t)
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(binary, "-test.run=^TestHistories$", "-test.cpu=1", "-shrink=false",
				fmt.Sprintf("-histories=%d", cmp.Or(d.within, withinUsual)), fmt.Sprintf("-first=%d", d.first))
			c.Env = append(os.Environ(), "LEDGER_PLANTED="+d.name)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Fatalf("%d histories came out right although %s: %s", d.within, d.guarantee, d.new)
			}
			found := regexp.MustCompile(`seed \d+: .*`).Find(out)
			if found == nil {
				t.Fatalf("it failed otherwise: %s", out)
			}
			t.Logf("%s", found)
		})
	}
}
