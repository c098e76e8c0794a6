// Package documents checks that the documents and templates agree with the code. It runs the commands in README.md and
// docs, and compares the answers. It runs the sample payloads of the functions. It checks in template.yaml and
// watch.yaml that the table is retained, every route requires authorization, roles are narrow, and alarms use metrics
// that exist and that the ledger emits.
// Only it finds what a template or a document gets wrong: a filter of the stream, an alarm that cannot go off, a command
// that does not run.
package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

// root is the folder of the module.
const root = "../.."

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// snippet is one fenced block of a document.
type snippet struct {
	line     int
	language string
	text     string
}

// readSnippets returns the fenced blocks of a document. Blocks without a language are left out.
func readSnippets(t *testing.T, document string) []snippet {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var snippets []snippet
	var open *snippet
	for i, line := range strings.Split(string(text), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &snippet{line: i + 1, language: language}
		case fence:
			if open.language != "" {
				snippets = append(snippets, *open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("the block at line %d of %s has no end", open.line, document)
	}
	return snippets
}

// projectionTime is how long a projection may take on a busy machine.
const projectionTime = 30 * time.Second

// transactionID matches the id of a transaction of the command line.
var transactionID = regexp.MustCompile(` --id (\S+)`)

// serve matches a block that runs `ledger up`.
var serve = regexp.MustCompile(`^go run \./cmd/ledger up([^&|;\n]*)\n$`)

// stale matches a block that only reads a balance, which may be behind.
var stale = regexp.MustCompile(`^ledger balance (\S+ )*--json\n$`)

// defaultStore is the address of DynamoDB Local in the documents.
const defaultStore = "http://127.0.0.1:8000"

// TestSnippets runs every snippet of eight documents in order, each document on its own `up`, which has DynamoDB Local
// if the document uses its address. A shell block must succeed. A JSON block must equal the answer of the last command before it ("…" matches
// any text). A JSONL block is imported. A block with `up` and flags must become ready. Plain `up` is already running.
// `go test` runs this test.
func TestSnippets(t *testing.T) {
	for _, document := range []string{"README.md", "docs/api.md", "docs/closing.md", "docs/access.md", "docs/console.md",
		"docs/proof.md", "docs/recipes.md", "docs/integrations.md"} {
		t.Run(document, func(t *testing.T) {
			if document != "README.md" {
				full.Only(t, "starts another ledger")
			}
			t.Parallel()
			snippets := readSnippets(t, filepath.Join(root, document))
			if len(snippets) < 3 {
				t.Fatalf("%d snippets found", len(snippets))
			}
			up := []string{"up", "--port", "0"}
			needsStore := func(s snippet) bool { return strings.Contains(s.text, defaultStore) }
			if !slices.ContainsFunc(snippets, needsStore) {
				up = append(up, "--memory")
			}
			ledger := process.Start(t, up...)
			var answer []byte
			var newest string // the id of the last transaction of the command line
			var asked string  // the last commands
			for _, s := range snippets {
				where := fmt.Sprintf("%s line %d", document, s.line)
				switch s.language {
				case "sh":
					matched := serve.FindStringSubmatch(s.text)
					switch {
					case s.text == "go test ./...\n":
					case matched != nil && strings.TrimSpace(matched[1]) == "":
					case matched != nil:
						other := process.Start(t, append([]string{"up", "--port", "0"}, strings.Fields(matched[1])...)...)
						caller.New(t, other.URL).Must(200, "GET", "/healthz", "")
					default:
						if strings.Contains(s.text, "ledger rebuild ") {
							waitForProjection(t, ledger)
						}
						if strings.Contains(s.text, "ledger digest ") || strings.Contains(s.text, "ledger export ") {
							waitForJournal(t, ledger, newest)
						}
						if id := transactionID.FindStringSubmatch(s.text); id != nil {
							newest = id[1]
						}
						answer = shell(t, ledger, where, s.text)
						asked = s.text
					}
				case "json":
					if stale.MatchString(asked) {
						caller.Eventually(t, projectionTime, where+" is projected", func() bool {
							answer = shell(t, ledger, where, asked)
							return matches(t, lastLine(answer), []byte(s.text))
						})
					}
					if !matches(t, lastLine(answer), []byte(s.text)) {
						t.Errorf("%s: the command before it answered %s", where, answer)
					}
				case "jsonl":
					file := filepath.Join(t.TempDir(), "import.jsonl")
					if err := os.WriteFile(file, []byte(s.text), 0o600); err != nil {
						t.Fatal(err)
					}
					shell(t, ledger, where, "go run ./cmd/ledger import "+file)
				case "console": // needs an AWS account or SAM
				case "yaml": // needs an AWS account
					if err := yaml.Unmarshal([]byte(s.text), new(yaml.Node)); err != nil {
						t.Errorf("%s: %v", where, err)
					}
				case "json policy": // package digest compares it with the requests
				case "json mcp": // a test of cmd/ledger runs it
				case "text": // what the commands before it print, in part
					for line := range strings.Lines(s.text) {
						begins, _, _ := strings.Cut(strings.TrimSpace(line), "…")
						if !bytes.Contains(answer, []byte(begins)) {
							t.Errorf("%s: the commands before it printed no %q, but %s", where, line, answer)
						}
					}
				default:
					t.Errorf("%s: the test does not support blocks of %q", where, s.language)
				}
			}
		})
	}
}

// waitForProjection waits until everything written before the call is projected. Otherwise a dry run of rebuild reports
// differences.
func waitForProjection(t *testing.T, ledger *process.Process) {
	t.Helper()
	jane := caller.New(t, ledger.URL)
	jane.Must(201, "PUT", "/v1/accounts/jane/members/last", `{"role":"viewer"}`)
	caller.Eventually(t, projectionTime, "the newest grant is projected", func() bool {
		return strings.Contains(string(jane.Must(200, "GET", "/v1/accounts/jane/members", "").Body), `"user":"last"`)
	})
}

// waitForJournal waits until a digest reads a transaction.
func waitForJournal(t *testing.T, ledger *process.Process, id string) {
	t.Helper()
	caller.Eventually(t, projectionTime, "the journal has "+id, func() bool {
		journal := caller.New(t, ledger.URL).Must(200, "GET", "/v1/journal?limit=100", "").Body
		return strings.Contains(string(journal), `"`+id+`"`)
	})
}

// shell runs a block as a reader would, against this process, and returns its standard output.
func shell(t *testing.T, l *process.Process, where, text string) []byte {
	t.Helper()
	for _, program := range []string{"hledger", "duckdb"} {
		if _, err := exec.LookPath(program); err != nil && strings.Contains(text, "\n"+program+" ") {
			full.Without(t, program+" is not installed")
		}
	}
	aside := ".ledger/set-aside.jsonl"
	if strings.Contains(text, aside) {
		newest := caller.New(t, l.URL).Must(200, "GET", "/v1/accounts/jane/postings?asset=USD&limit=1", "")
		letter := system.DeadLetter(t, table.Posting.Key("jane", "USD", newest.Text("data", 0, "id")))
		aside = filepath.Join(t.TempDir(), "set-aside.jsonl")
		if err := os.WriteFile(aside, []byte(letter), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer(
		"go run ./cmd/ledger-proof", "go run ./cmd/ledger-proof", "go run ./cmd/ledger-bench", "go run ./cmd/ledger-bench",
		" /audit", " "+filepath.Join(process.Folder, "audit"),
		"go run ./cmd/ledger", process.Binary(t),
		".ledger/set-aside.jsonl", aside,
		defaultStore, l.Store(),
		"curl ", "curl --silent --show-error ",
		"localhost:8080", strings.TrimPrefix(l.URL, "http://"),
	).Replace(text)
	command := exec.CommandContext(t.Context(), "bash", "-euc", script)
	command.Dir = root
	command.Env = append(os.Environ(), "LEDGER_URL="+l.URL, "PATH="+process.Folder+":"+os.Getenv("PATH"),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_SESSION_TOKEN=")
	command.WaitDelay = time.Second
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v: %s%s", where, err, out.Bytes(), problems.Bytes())
	}
	if strings.Contains(text, "curl ") && !json.Valid(lastLine(out.Bytes())) {
		t.Fatalf("%s: the answer is no JSON: %s", where, out.Bytes())
	}
	return out.Bytes()
}

func lastLine(text []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return lines[len(lines)-1]
}

// matches compares JSON. The text "…" in want stands for any text.
func matches(t *testing.T, got, want []byte) bool {
	t.Helper()
	canonical := func(text []byte) string {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text, _ = json.Marshal(v)
		return string(text)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(canonical(want)), `"…"`, `"(?:[^"\\]|\\.)*"`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(canonical(got))
}
