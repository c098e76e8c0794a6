package spec

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A planting is a row of the table of planted defects: a defect, the rules of models that it takes from the code, or
// both.
type planting struct {
	guarantees  []string
	defect      string // "–" for none
	inHistories bool   // random histories find it
	rules       []string
}

var (
	plantingRow  = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \| (–|[a-z/]+, Test\w+) \| (–|\d+|directed) \| ([^|]+) \|$`)
	plantedName  = regexp.MustCompile(`(?m)^# (.+): \S+\.go$`)
	ruleName     = regexp.MustCompile("^(\\w+)` `(NO_\\w+)$") // as listed returns it
	guaranteeRow = regexp.MustCompile(`(?m)^\| (G\d+|closed periods|the journal|lists|balances and statements of the past)` +
		`(?: [^|]+)? \| ([^|]+) \| (\d+)(?:[,;] [^|]+)? \| (\d+); [^|]+ \| ([^|]+) \|$`)
	ofModel = regexp.MustCompile("`(\\w+)`: ((?:`NO_\\w+`(?:, )?)+)")
)

// guaranteeOf has the guarantees of properties and of planted defects that have another name in the table of guarantees.
var guaranteeOf = map[string]string{
	"Closed": "closed periods", "Final": "closed periods", "journal": "the journal", "lanes": "lists",
}

func guaranteeName(of string) string {
	if name, ok := guaranteeOf[of]; ok {
		return name
	}
	return of
}

// TestRulesAndDefectsReferToEachOther checks the table of planted defects: it has each planted defect once, and each rule
// of a model. A rule without a defect has a row of its own.
func TestRulesAndDefectsReferToEachOther(t *testing.T) {
	rules, document := readRules(t)
	passages, err := os.ReadFile(filepath.Join(moduleRoot, "tests", "simulation", "testdata", "defects.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var defects, planted []string
	for _, name := range plantedName.FindAllStringSubmatch(string(passages), -1) {
		planted = append(planted, name[1])
	}
	breaks := map[string]string{}
	for _, r := range rules {
		breaks[r.name()] = guaranteeName(r.breaks)
	}
	withDefect, alone := map[string]bool{}, map[string]bool{}
	for _, p := range readPlantings(t, document) {
		if p.defect != "–" {
			defects = append(defects, p.defect)
		} else if len(p.rules) != 1 || !slices.Equal(p.guarantees, []string{breaks[p.rules[0]]}) {
			t.Errorf("a row without a defect has the rules %v and the guarantees %v", p.rules, p.guarantees)
		}
		for _, name := range p.rules {
			if breaks[name] == "" {
				t.Errorf("%s: there is no rule %s", p.defect, name)
			}
			withDefect[name], alone[name] = withDefect[name] || p.defect != "–", alone[name] || p.defect == "–"
		}
	}
	for name := range breaks {
		if withDefect[name] == alone[name] {
			t.Errorf("the table of planted defects must have %s, in rows with a defect or alone", name)
		}
	}
	sameList(t, "planted defects, and those in the table", planted, defects)
}

// TestGuaranteesAreListed checks the table of guarantees: which rules of models, and how many planted defects, prove each.
func TestGuaranteesAreListed(t *testing.T) {
	rules, document := readRules(t)
	found := map[string][2]int{} // planted defects that histories find, and others, by guarantee
	for _, p := range readPlantings(t, document) {
		for _, g := range p.guarantees {
			n := found[guaranteeName(g)]
			if p.inHistories {
				n[0]++
			} else if p.defect != "–" {
				n[1]++
			}
			found[guaranteeName(g)] = n
		}
	}
	exhausted := map[string][]string{}
	for _, r := range rules {
		g := guaranteeName(r.breaks)
		exhausted[g] = append(exhausted[g], r.name())
	}
	var listedHere []string
	for _, row := range guaranteeRow.FindAllStringSubmatch(document, -1) {
		g := row[1]
		listedHere = append(listedHere, g)
		var names []string
		for _, of := range ofModel.FindAllStringSubmatch(row[2], -1) {
			for flag := range strings.SplitSeq(of[2], ", ") {
				names = append(names, of[1]+" "+strings.Trim(flag, "`"))
			}
		}
		sameList(t, g+": rules in the table of guarantees, and in that of rules", names, exhausted[g])
		if n := fmt.Sprint(found[g][0], found[g][1]); n != row[3]+" "+row[4] {
			t.Errorf("%s: histories and directed tests find %s planted defects, not %s %s", g, n, row[3], row[4])
		}
		if strings.Count(row[5], " ") < 1 {
			t.Errorf("%s: the row does not say what is not proved", g)
		}
		delete(found, g)
		delete(exhausted, g)
	}
	for n := range 14 {
		if g := fmt.Sprintf("G%d", n+1); !slices.Contains(listedHere, g) {
			t.Errorf("the table of guarantees lacks %s", g)
		}
	}
	if len(found)+len(exhausted) > 0 {
		t.Errorf("the table of guarantees lacks %v, %v", found, exhausted)
	}
}

// name is the name of a rule in this test.
func (r rule) name() string { return r.model + " " + r.flag }

// readPlantings returns the rows of the table of planted defects.
func readPlantings(t *testing.T, document string) (all []planting) {
	t.Helper()
	_, table, ok := strings.Cut(document, "\n## Planted defects\n")
	table, _, ended := strings.Cut(table, "\n## ")
	if !ok || !ended {
		t.Fatal("docs/testing.md has no chapter of planted defects")
	}
	for _, row := range plantingRow.FindAllStringSubmatch(table, -1) {
		p := planting{
			guarantees: strings.Split(row[1], ", "), defect: row[2], inHistories: strings.HasPrefix(row[3], "simulation, "),
		}
		for _, cell := range listed(row[5]) {
			of := ruleName.FindStringSubmatch(cell)
			if of == nil {
				t.Errorf("%s: %q is no rule of a model", p.defect, cell)
				continue
			}
			p.rules = append(p.rules, of[1]+" "+of[2])
		}
		all = append(all, p)
	}
	if rows := strings.Count(table, "\n| ") - 1; rows != len(all) {
		t.Errorf("%d of %d rows of the table of planted defects cannot be read", rows-len(all), rows)
	}
	return all
}

// sameList checks that two lists have the same entries, each once.
func sameList(t *testing.T, what string, a, b []string) {
	t.Helper()
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) || len(slices.Compact(slices.Clone(a))) != len(a) {
		t.Errorf("%s:\n%q\n%q", what, a, b)
	}
}
