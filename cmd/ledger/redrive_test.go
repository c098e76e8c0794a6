package main

import (
	"strings"
	"testing"
)

// What cannot work is said before the table is asked, or with its address.
func TestRedriveIsToldWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args     string
		code     int
		problems string
	}{
		{"redrive", exitWrongUse, "at least one FILE"},
		{"redrive --dry-run=maybe x", exitWrongUse, "--dry-run"},
		{"redrive nothing-here.jsonl --dynamodb-endpoint http://127.0.0.1:1", exitFailed, "nothing-here.jsonl"},
		{"redrive - --dynamodb-endpoint http://127.0.0.1:1", exitFailed, "127.0.0.1:1"},
		{"redrive - --dynamodb-endpoint here", exitWrongUse, "--dynamodb-endpoint"},
	} {
		code, out, problems := ledger(t, "", strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(problems, c.problems) {
			t.Errorf("%q: exit code %d, want %d; printed %q, told %q", c.args, code, c.code, out, problems)
		}
	}
}
