package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/ledger/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/process"
)

// snippet is one fenced block of a document.
type snippet struct {
	line     int
	language string
	text     string
}

// readSnippets returns every fenced block of a document. A block with no language is a picture, and none of them.
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

// TestREADME runs every snippet of the README, in order, on one `up`: a shell block must succeed, a JSON block behind it
// is what its last command answered ("…" stands for any text), a JSONL block is imported. Operators' commands find the
// records of a posting in the file of what was set aside.
func TestREADME(t *testing.T) {
	t.Parallel()
	snippets := readSnippets(t, "../README.md")
	if len(snippets) < 3 || snippets[0].text != "go run ./cmd/ledger up\n" || snippets[1].text != "go test ./...\n" ||
		snippets[2].text != "go run ./cmd/ledger up --memory --demo\n" {
		t.Fatal("the README doesn't begin with its commands: two that are run here, and between them the one that runs this test")
	}
	inMemory := process.Start(t, "up", "--memory", "--demo", "--port", "0")
	caller.New(t, inMemory.URL).Must(200, "GET", "/v1/accounts/jane/summary", "")
	ledger := process.Start(t, "up", "--port", "0")
	var answer []byte
	for _, s := range snippets[3:] {
		switch s.language {
		case "sh":
			answer = shell(t, ledger, s)
		case "json":
			var got, want any
			if err := json.Unmarshal([]byte(s.text), &want); err != nil {
				t.Fatalf("README line %d: %v", s.line, err)
			}
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Fatalf("README line %d: the command before it answered %q: %v", s.line, answer, err)
			}
			if !matches(got, want) {
				t.Errorf("README line %d: the command before it answered %s", s.line, answer)
			}
		case "jsonl":
			file := filepath.Join(t.TempDir(), "import.jsonl")
			if err := os.WriteFile(file, []byte(s.text), 0o600); err != nil {
				t.Fatal(err)
			}
			shell(t, ledger, snippet{line: s.line, text: "go run ./cmd/ledger import " + file})
		case "console": // needs an account or SAM: see TestConsoleBlocks
		default:
			t.Errorf("README line %d: nothing runs a block of %q", s.line, s.language)
		}
	}
}

// shell runs a block as a reader would, against this process, and returns the standard output of its last line.
func shell(t *testing.T, l *process.Process, s snippet) []byte {
	t.Helper()
	aside := ".ledger/set-aside.jsonl"
	if strings.Contains(s.text, aside) {
		posting := caller.New(t, l.URL).Must(200, "GET", "/v1/accounts/jane/postings?asset=USD&limit=1", "").Text("data", 0, "id")
		aside = filepath.Join(t.TempDir(), "set-aside.jsonl")
		if err := os.WriteFile(aside, []byte(objectOf(t, table.PostingKey("jane", "USD", posting))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer(
		"go run ./cmd/ledger", process.Binary(t),
		".ledger/set-aside.jsonl", aside,
		"http://127.0.0.1:8000", l.Store(),
		"curl ", "curl --silent --show-error ",
		"localhost:8080", strings.TrimPrefix(l.URL, "http://"),
	).Replace(s.text)
	command := exec.CommandContext(t.Context(), "bash", "-euc", script)
	command.Dir = ".."
	command.Env = append(os.Environ(), "LEDGER_URL="+l.URL,
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_SESSION_TOKEN=")
	command.WaitDelay = time.Second
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("README line %d: %v: %s%s", s.line, err, out.Bytes(), problems.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	answer := lines[len(lines)-1]
	if strings.Contains(s.text, "curl ") && !json.Valid(answer) {
		t.Fatalf("README line %d: the answer is no JSON: %s", s.line, out.Bytes())
	}
	return answer
}

// matches compares decoded JSON; the text "…" in want stands for any text.
func matches(got, want any) bool {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		return ok && (want == "…" || want == text)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !matches(list[i], want[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return false
		}
		for k := range want {
			if v, ok := object[k]; !ok || !matches(v, want[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		got, want string
		is        bool
	}{
		{`{"a":"x","b":[1,null]}`, `{"a":"…","b":[1,null]}`, true},
		{`{"a":"x"}`, `{"a":"y"}`, false},
		{`{"a":"x","c":1}`, `{"a":"x"}`, false},
		{`{"a":null}`, `{"a":"…"}`, false},
		{`[1]`, `[1,2]`, false},
		{`{"b":1}`, `{"a":1}`, false},
	} {
		var got, want any
		if json.Unmarshal([]byte(c.got), &got) != nil || json.Unmarshal([]byte(c.want), &want) != nil {
			t.Fatal(fmt.Sprint(c))
		}
		if matches(got, want) != c.is {
			t.Errorf("%s against %s: not %v", c.got, c.want, c.is)
		}
	}
}
