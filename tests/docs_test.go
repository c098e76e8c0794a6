package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"go.yaml.in/yaml/v3"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/tests/process"
)

// Of the documents: a block of the language sh is run (TestREADME). One of the language console needs
// an AWS account or SAM, so what can be checked without them is checked here: that a shell can read it, and that the
// commands, options, resources, outputs and environments that it names exist.

const (
	operationsFile  = "../docs/operations.md"
	performanceFile = "../docs/performance.md"
)

var documents = []string{"../README.md", operationsFile, costFile, capacityFile}

// stackFile is what these tests need of template.yaml beyond its resources.
type stackFile struct {
	Parameters map[string]struct {
		Default     any    `yaml:"Default"`
		Description string `yaml:"Description"`
	} `yaml:"Parameters"`
	Outputs map[string]any `yaml:"Outputs"`
}

func readStack(t *testing.T) (s stackFile) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	ledgerCommand = regexp.MustCompile(`(?m)(?:^|\s)(?:go run \./cmd/)?ledger ([a-z]+)((?: [^|&;\n]*)?)`)
	longOption    = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z0-9-]*)`)
	resourceName  = regexp.MustCompile(`\$\(resource (\w+)\)`)
	outputName    = regexp.MustCompile(`\$\(output (\w+)\)`)
	configEnv     = regexp.MustCompile(`--config-env (\S+)`)
)

// TestConsoleBlocks checks what needs an account or SAM as far as it can be checked without them.
func TestConsoleBlocks(t *testing.T) {
	t.Parallel()
	stack, resources := readStack(t), stackResources(t)
	configured, err := os.ReadFile(filepath.Join(moduleRoot, "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	help := func(command string) string {
		out, problems, status := process.Run(t, "", command, "--help")
		if status != 0 {
			t.Fatalf("ledger %s --help: %s", command, problems)
		}
		return out
	}
	blocks := 0
	for _, document := range documents {
		for _, s := range readSnippets(t, document) {
			where := fmt.Sprintf("%s line %d", filepath.Base(document), s.line)
			switch s.language {
			case "console":
				blocks++
			case "json":
				if !json.Valid([]byte(s.text)) {
					t.Errorf("%s: no JSON", where)
				}
				continue
			default:
				if document != documents[0] {
					t.Errorf("%s: nothing looks at a block of %q", where, s.language)
				}
				continue
			}
			syntax := exec.CommandContext(t.Context(), "bash", "-n")
			syntax.Stdin = strings.NewReader(s.text)
			if out, err := syntax.CombinedOutput(); err != nil {
				t.Errorf("%s: no shell can read it: %s", where, out)
			}
			text := strings.ReplaceAll(s.text, "\\\n", " ")
			for _, command := range ledgerCommand.FindAllStringSubmatch(text, -1) {
				for _, option := range longOption.FindAllStringSubmatch(command[2], -1) {
					if !strings.Contains(help(command[1]), option[1]+" ") {
						t.Errorf("%s: ledger %s has no %s", where, command[1], option[1])
					}
				}
				help(command[1])
			}
			for _, name := range outputName.FindAllStringSubmatch(text, -1) {
				if _, ok := stack.Outputs[name[1]]; !ok {
					t.Errorf("%s: the stack has no output %s", where, name[1])
				}
			}
			for _, name := range configEnv.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(string(configured), "["+name[1]+".deploy.parameters]") {
					t.Errorf("%s: samconfig.toml has no environment %s", where, name[1])
				}
			}
			for _, name := range resourceName.FindAllStringSubmatch(text, -1) {
				if _, ok := resources[name[1]]; !ok {
					t.Errorf("%s: the stack has no resource %s", where, name[1])
				}
			}
		}
	}
	if blocks == 0 {
		t.Error("no blocks found")
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInAnchor  = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors returns the names by which a document's headings are linked to.
func anchors(t *testing.T, document string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]bool)
	fenced := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && !fenced && strings.HasPrefix(line, "#") {
			name := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			all[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return all
}

// TestLinksLead somewhere: to a file of ours, and to a heading in it.
func TestLinksLead(t *testing.T) {
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(link[1], "#")
			target := document
			if file != "" {
				target = filepath.Join(filepath.Dir(document), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", document, link[1], err)
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s, and there is no such heading", document, link[1])
			}
		}
	}
}

// row is one line of a table of the document.
type row string

func (r row) String() string { return string(r) }

// Every parameter of the stack is in the document, as the template tells it.
func TestParametersAreDocumented(t *testing.T) {
	var rows []row
	stack := readStack(t)
	for _, name := range parameterOrder(t) {
		p := stack.Parameters[name]
		value := fmt.Sprint(p.Default)
		switch {
		case p.Default == nil:
			value = "none, it must be given"
		case value == "":
			value = "empty"
		default:
			value = "`" + value + "`"
		}
		rows = append(rows, row(fmt.Sprintf("| `%s` | %s | %s |", name, value, strings.TrimSpace(p.Description))))
	}
	wantTable(t, operationsFile, "Parameters", rows)
}

// parameterOrder returns the names of the parameters as they come in the template.
func parameterOrder(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Parameters yaml.Node `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(stack.Parameters.Content); i += 2 {
		names = append(names, stack.Parameters.Content[i].Value)
	}
	return names
}

// Whoever is woken by an alarm finds what it means and what to do.
func TestAlarmsAreDocumented(t *testing.T) {
	alarms := make(map[string]bool)
	for name, resource := range stackResources(t) {
		if resource.Type == "AWS::CloudWatch::Alarm" || resource.Type == "AWS::CloudWatch::CompositeAlarm" {
			alarms[name] = true
		}
	}
	text, err := os.ReadFile(operationsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(text), "\n## Alarms\n")
	below, _, _ = strings.Cut(below, "\n## ")
	sections := make(map[string]bool)
	for _, section := range strings.Split(below, "\n### ")[1:] {
		name, what, _ := strings.Cut(section, "\n")
		sections[name] = true
		if !strings.Contains(what, "Do: ") {
			t.Errorf("%s doesn't tell what to do", name)
		}
	}
	if want, got := slices.Sorted(maps.Keys(alarms)), slices.Sorted(maps.Keys(sections)); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%s tells of the alarms %q; the stack has %q", operationsFile, got, want)
	}
}

// loggedWords matches what the document quotes of the log: a few words in small letters.
var loggedWords = regexp.MustCompile("`([a-z]+(?: [a-z]+)+)`")

// The lines that an alarm sends people to look for are lines that the code writes.
func TestDocumentedLinesAreLogged(t *testing.T) {
	text, err := os.ReadFile(operationsFile)
	if err != nil {
		t.Fatal(err)
	}
	sources, found := goSources(t), 0
	for _, words := range loggedWords.FindAllStringSubmatch(string(text), -1) {
		if program, _, _ := strings.Cut(words[1], " "); program == "ledger" || program == "sam" {
			continue
		}
		found++
		if !slices.ContainsFunc(sources, func(s goSource) bool {
			return !s.test && strings.Contains(string(s.text), `"`+words[1]+`"`)
		}) {
			t.Errorf("%s sends people to look for %q, which nothing logs", operationsFile, words[1])
		}
	}
	if found == 0 {
		t.Error("no line of the log is quoted")
	}
}

// documentJSON returns the JSON blocks below a heading.
func documentJSON(t *testing.T, heading string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(operationsFile)
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", operationsFile, heading)
	}
	below, _, _ = strings.Cut(below, "\n## ")
	for i, part := range strings.Split(below, "```") {
		if block, ok := strings.CutPrefix(part, "json\n"); ok && i%2 == 1 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// What was set aside is redriven by what its object carries: the object that the document shows, given to the command as it is,
// counts the posting that it points at.
func TestTheDocumentedObjectIsRedriven(t *testing.T) {
	t.Parallel()
	object := documentJSON(t, "Audit and mend")[0]
	var outer struct{ Payload string }
	var event lambdaevents.DynamoDBEvent
	if err := json.Unmarshal([]byte(object), &outer); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(outer.Payload), &event); err != nil || len(event.Records) != 1 {
		t.Fatalf("%d records, %v", len(event.Records), err)
	}
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	posting := old("jane", "USD", 1)[0]
	keys := event.Records[0].Change.Keys
	account, asset, id, ok := table.ParsePosting(table.Key{PK: keys[table.AttrPK].String(), SK: keys[table.AttrSK].String()})
	if !ok || account != posting.Account || asset != posting.Asset {
		t.Fatalf("%v is no key of a posting of jane's USD", keys)
	}
	posting.ID = events.KSUID(id)
	putEvents(t, s, []events.PostingRecorded{posting})
	file := filepath.Join(t.TempDir(), "object.json")
	if err := os.WriteFile(file, []byte(object), 0o600); err != nil {
		t.Fatal(err)
	}
	if sum, _, told, status := s.redrive(file); status != 0 || sum.Refolded != 1 {
		t.Errorf("%+v, status %d: %s", sum, status, told)
	}
	balance := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "")
	if got := balance.Value("postings"); got != 1.0 {
		t.Errorf("the balance counts %v postings", got)
	}
}

// wantTable fails t unless the first table below a heading of the document has these rows, and no others.
func wantTable[R fmt.Stringer](t *testing.T, document, heading string, rows []R) {
	t.Helper()
	var wanted []string
	for _, r := range rows {
		wanted = append(wanted, r.String())
	}
	if got := documentRows(t, document, heading); !slices.Equal(got, wanted) {
		t.Errorf("the table under %q of %s should be\n%s", heading, document, strings.Join(wanted, "\n"))
	}
}

// documentRows returns the rows of the first table below a heading of a document, without its head.
func documentRows(t *testing.T, document, heading string) (rows []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	below, inTable := false, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch title, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); {
		case strings.HasPrefix(line, "#") && isHeading:
			below = title == heading
		case below && strings.HasPrefix(line, "|"):
			rows, inTable = append(rows, line), true
		case inTable:
			below = false
		}
	}
	if len(rows) < 3 {
		t.Fatalf("%s has no table under %q", document, heading)
	}
	return rows[2:]
}

// TestGoCommandsOfDocuments checks that the packages and tests that documents run by go test are there.
func TestGoCommandsOfDocuments(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^(?:\S+=\S+ )*(?:\$ )?go test ([^#\n]*)`)
	pattern := regexp.MustCompile(`-(run|bench) (\w+)`)
	commands := 0
	for _, document := range append([]string{"README.md"}, documents...) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			commands++
			before, _, _ := strings.Cut(m[1], " -args")
			var folders []string
			for _, word := range strings.Fields(before) {
				if !strings.HasPrefix(word, "./") {
					continue
				}
				folder := filepath.Join(moduleRoot, strings.TrimSuffix(word, "/..."))
				if _, err := os.Stat(folder); err != nil {
					t.Errorf("%s: go test %s: no folder %s", document, m[1], word)
				}
				folders = append(folders, folder)
			}
			for _, named := range pattern.FindAllStringSubmatch(before, -1) {
				kind := map[string]string{"run": "Test", "bench": "Benchmark"}[named[1]]
				name := regexp.MustCompile(`(?m)^func ` + kind + `\w*` + strings.TrimPrefix(named[2], kind))
				if !slices.ContainsFunc(folders, func(folder string) bool { return inTests(t, folder, name) }) {
					t.Errorf("%s: go test %s: there is no %s", document, m[1], named[2])
				}
			}
		}
	}
	if commands < 6 {
		t.Errorf("%d commands found", commands)
	}
}

// inTests tells whether a test file of a folder has what the pattern describes.
func inTests(t *testing.T, folder string, pattern *regexp.Regexp) bool {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if pattern.Match(text) {
			return true
		}
	}
	return false
}
