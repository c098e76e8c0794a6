package main

import (
	"strings"
	"testing"
)

// What is wrong with a command line is said before the table is asked.
func TestRebuildRefusesWrongUse(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"rebuild jane", exitWrongUse, "unknown command"},
		{"rebuild --asset USD", exitWrongUse, "--asset needs --account"},
		{"rebuild --account jane --from jane", exitWrongUse, "--from"},
		{"rebuild --account a*b", exitWrongUse, "--account"},
		{"rebuild --account= ", exitWrongUse, "--account is given, and empty"},
		{"rebuild --from #", exitWrongUse, "--from"},
		{"rebuild --rate -1", exitWrongUse, "--rate"},
		{"rebuild --rate many", exitWrongUse, "--rate"},
		{"rebuild --dynamodb-endpoint here", exitWrongUse, "--dynamodb-endpoint"},
		{"rebuild --dynamodb-endpoint http://127.0.0.1:1 --region x", exitWrongUse, "--region"},
		{"rebuild --dynamodb-endpoint http://127.0.0.1:1", exitFailed, "127.0.0.1:1"},
	} {
		code, out, problems := ledgerWithInput(t, "http://127.0.0.1:1", "", strings.Fields(c.args)...)
		if code != c.code || out != "" || !strings.Contains(problems, c.want) {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, problems)
		}
	}
}
