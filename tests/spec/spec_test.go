// Package spec exhausts the Promela models of the rules that move money, with SPIN. Each model is a file of this folder.
// The table "Rules that a model checker has exhausted" of docs/testing.md has the rules of all models. A model holds with
// all its rules, and each rule that is taken away breaks the guarantee that the table names. So no rule is idle, and no
// property is true for a reason other than the rules.
package spec

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/full"
)

var moduleRoot = filepath.Join("..", "..")

const (
	modelLines   = 150
	searchDepth  = 200_000
	searchMemory = 2000 // megabytes
	searchTime   = 5 * time.Minute
)

// A rule is a row of the table of rules.
type rule struct {
	model    string
	flag     string   // takes the rule away
	breaks   string   // the property that breaks without it
	code     []string // what implements it: package.Function or package.Type.Method
	unstated bool     // the row does not say what goes wrong without it
}

var ruleRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(NO_\\w+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// readRules returns the rules of docs/testing.md, and the document.
func readRules(t *testing.T) (rules []rule, document string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "testing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range ruleRow.FindAllStringSubmatch(string(text), -1) {
		rules = append(rules, rule{
			model: row[1], flag: row[2], breaks: row[3], code: listed(row[4]), unstated: strings.Count(row[5], " ") < 5,
		})
	}
	return rules, string(text)
}

// listed returns the entries of a cell, which has "–" for none.
func listed(cell string) (all []string) {
	for one := range strings.SplitSeq(cell, ";") {
		if one = strings.Trim(one, " `"); one != "–" {
			all = append(all, one)
		}
	}
	return all
}

// readModels returns the text of each model, by its name.
func readModels(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.pml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	models := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		models[strings.TrimSuffix(file, ".pml")] = string(text)
	}
	return models
}

// TestModels exhausts each model, and finds a counterexample without each of its rules.
func TestModels(t *testing.T) {
	needsSpin(t)
	rules, _ := readRules(t)
	for name, model := range readModels(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := search(t, model, searchDepth, searchMemory)
			if err != nil || found.broken != "" {
				t.Fatalf("the model does not hold: %q, %v\n%s", found.broken, err, found.output)
			}
			if len(found.unreached) > 0 {
				t.Errorf("the model never reaches\n%s", strings.Join(found.unreached, "\n"))
			}
			t.Logf("exhausted: %s states, %.1f s", found.states, found.took.Seconds())
		})
		for _, r := range rules {
			if r.model != name {
				continue
			}
			t.Run(name+" "+r.flag, func(t *testing.T) {
				t.Parallel()
				found, err := search(t, model, searchDepth, searchMemory, r.flag)
				if err != nil || found.broken != r.breaks {
					t.Fatalf("%q breaks without the rule, not %s: %v\n%s", found.broken, r.breaks, err, found.output)
				}
				t.Logf("%s breaks: %s states, %.1f s", found.broken, found.states, found.took.Seconds())
			})
		}
	}
}

// TestCutSearchIsNoProof checks the judge of a search: SPIN also prints that there are no errors if it ran out of depth
// or of memory. A search that finds another error than a broken property is no counterexample either.
func TestCutSearchIsNoProof(t *testing.T) {
	needsSpin(t)
	counter := "bool G; int n, m; active proctype P() { do :: n < %d -> n++; m = n * 7 :: else -> break od; assert(%s) }"
	sound := fmt.Sprintf(counter, 300_000, "G || n == 300000")
	for _, c := range []struct {
		name, model   string
		depth, memory int
		broken, fails string
	}{
		{"whole", sound, 1_200_000, 2000, "", ""},
		{"cut by depth", sound, 1000, 2000, "", "depth"},
		{"cut by memory", sound, 1_200_000, 80, "", "MEMLIM"},
		{"broken", fmt.Sprintf(counter, 9, "G || n < 9"), 1000, 2000, "G", ""},
		{"without a name", fmt.Sprintf(counter, 9, "n < 9"), 1000, 2000, "", "names no property"},
		{"stuck", "active proctype P() { false }", 1000, 2000, "", "invalid end state"},
		{"no Promela", "active proctype", 1000, 2000, "", "spin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := search(t, c.model, c.depth, c.memory)
			if found.broken != c.broken || (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q breaks, error %v, not %q and %q\n%s", found.broken, err, c.broken, c.fails, found.output)
			}
		})
	}
}

func needsSpin(t *testing.T) {
	t.Helper()
	for _, program := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(program); err != nil {
			full.Without(t, program+" is not installed: the models are not searched")
		}
	}
}

// A finding is the result of a search.
type finding struct {
	broken    string   // the property that a counterexample breaks
	unreached []string // statements, if there is no counterexample
	states    string
	took      time.Duration // of the search, on a processor
	output    string
}

var (
	violated   = regexp.MustCompile(`assertion violated \(*(\w+)\|\|`)
	stored     = regexp.MustCompile(`(\d+) states, stored`)
	statement  = regexp.MustCompile(`(?m)^\t(model\.pml:\d+, state \d+, ".*")$`)
	incomplete = []string{
		"max search depth too small", "reached -DMEMLIM bound", "out of memory", "invalid end state (", "VECTORSZ", "error: ",
		"aborting", "Search not completed",
	}
)

// search looks at every state of a model, with flags, until a property breaks. An error means that the search proves
// nothing: it was not completed, and found no property that breaks.
func search(t *testing.T, model string, depth, megabytes int, flags ...string) (f finding, _ error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "model.pml"), []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), searchTime)
	defer cancel()
	run := func(program string, arguments ...string) (string, error) {
		c := exec.CommandContext(ctx, program, arguments...)
		c.Dir = folder
		out, err := c.CombinedOutput()
		if c.ProcessState != nil {
			f.took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}
		if err != nil {
			err = fmt.Errorf("%s: %w\n%s", program, err, out)
		}
		return string(out), err
	}
	arguments := []string{"-a"}
	for _, flag := range flags {
		arguments = append(arguments, "-D"+flag)
	}
	if _, err := run("spin", append(arguments, "model.pml")...); err != nil {
		return f, err
	}
	optimize := "-O1"
	if len(flags) > 0 {
		optimize = "-O0" // a counterexample is mostly found in less time than optimizing takes
	}
	if _, err := run("gcc", optimize, "-w", "-DSAFETY", fmt.Sprintf("-DMEMLIM=%d", megabytes),
		"-o", "pan", "pan.c"); err != nil {
		return f, err
	}
	out, err := run(filepath.Join(folder, "pan"), fmt.Sprintf("-m%d", depth), "-w20")
	f.output = out
	if found := stored.FindStringSubmatch(out); found != nil {
		f.states = found[1]
	}
	if property := violated.FindStringSubmatch(out); property != nil {
		f.broken = property[1]
		return f, nil
	}
	if strings.Contains(out, "assertion violated") {
		return f, fmt.Errorf("the assertion names no property")
	}
	// The heading "invalid end states +" is in every output.
	for _, sign := range incomplete {
		if strings.Contains(out, sign) {
			return f, fmt.Errorf("the search proves nothing: %s", sign)
		}
	}
	if err != nil || !strings.Contains(out, "errors: 0") || f.states == "" {
		return f, fmt.Errorf("the search has no result: %v", err)
	}
	for _, at := range statement.FindAllStringSubmatch(out, -1) {
		if !strings.HasSuffix(at[1], `"-end-"`) && !slices.Contains(f.unreached, at[1]) {
			f.unreached = append(f.unreached, at[1])
		}
	}
	return f, nil
}
