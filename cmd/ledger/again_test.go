package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// The command that goes on has the flags that are given with it once, before the end of the flags, and no token. A shell
// reads each word as it was given.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		args, flags []string
		want        string
	}{
		{[]string{"rebuild", "--from", "a", "--table=x"}, []string{"from", "it's"}, `ledger rebuild --table=x --from 'it'\''s'`},
		{[]string{"rebuild", "--from=a"}, []string{"from", "b"}, "ledger rebuild --from b"},
		{[]string{"export", "--continue", "-o", "a b"}, []string{"continue", ""}, "ledger export -o 'a b' --continue"},
		{[]string{"transfer", "--", "a", "-1"}, []string{"id", "t-1"}, "ledger transfer --id t-1 -- a -1"},
		{[]string{"show", "", "--token=secret", "$x"}, nil, "ledger show '' '$x' --token TOKEN"},
	} {
		env := &environment{args: c.args}
		if got := env.again(c.flags...); got != c.want {
			t.Errorf("%q: %s, want %s", c.args, got, c.want)
		}
	}
}

// A post that is interrupted without an answer exits with 130, and says which command sends the same request again. A
// command without an end succeeds.
func TestInterrupted(t *testing.T) {
	for _, args := range []string{
		"transfer jane shop 1 USD --hold --expires 2h", "transfer jane shop 1 USD --json", "release h-1", "history jane", "tail", "tail --json",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/v1/assets/") {
				io.WriteString(w, `{"id":"USD","scale":2}`)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			interrupt()
			<-r.Context().Done()
		}))
		code, out, problems := ledgerIn(ctx, map[string]string{urlVariable: s.URL}, nil, strings.Fields(args)...)
		s.Close()
		if strings.HasPrefix(args, "tail") {
			if code != exitDone || out != "" || problems != "" {
				t.Errorf("%s: exit %d, %s%s", args, code, out, problems)
			}
			continue
		}
		pattern := `To go on, run:\n  ledger ` + args
		if strings.HasSuffix(args, "--json") {
			var p struct{ Code, Detail, Continue string }
			if err := json.Unmarshal([]byte(problems), &p); err != nil || p.Code != "outcome_unknown" {
				t.Errorf("%s: %v: %s", args, err, problems)
			}
			pattern, problems = "^ledger "+args, p.Continue+"\n"
		}
		if strings.HasPrefix(args, "transfer") {
			if strings.Contains(args, "--expires") {
				pattern = strings.Replace(pattern, " --expires 2h", " --id [0-9A-Za-z]{27} --expires 2[-0-9T:Z]+", 1)
			} else {
				pattern += " --id [0-9A-Za-z]{27}"
			}
		}
		if code != exitInterrupted || out != "" || !regexp.MustCompile(pattern+`\n$`).MatchString(problems) {
			t.Errorf("%s: exit %d, %s%s", args, code, out, problems)
		}
	}
}

// Commands on the table say how to go on, wherever the signal meets them. A key that was made is not made again.
func TestInterruptedOperator(t *testing.T) {
	for args, want := range map[string]string{
		"verify": "", "rebuild": "", "rebuild --lists --dry-run": "", "digest DIR --new-key": "digest DIR", "trial-balance": "", "find --day 2026-11-22": "",
		"export": "",
	} {
		for _, answers := range []int64{0, 1} { // until the signal
			ctx, interrupt := context.WithCancelCause(t.Context())
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation == "DescribeTable" && asked.Add(1) <= answers {
					w.WriteHeader(http.StatusBadRequest) // which is no error: the table may be read
					io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException"}`)
					return
				}
				interrupt(errors.New("signal")) // as signal.NotifyContext does
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}))
			dir := filepath.Join(t.TempDir(), "digest")
			rest := " --url " + s.URL
			if words := strings.Fields(args); !slices.Contains([]string{"trial-balance", "find", "export"}, words[0]) {
				rest = " --dynamodb-endpoint " + s.URL
			}
			code, out, problems := ledgerIn(ctx, nil, nil, strings.Fields(strings.ReplaceAll(args, "DIR", dir)+rest)...)
			s.Close()
			again := "To go on, run:\n  ledger " + strings.ReplaceAll(cmp.Or(want, args), "DIR", dir) + rest + "\n"
			if code != exitInterrupted || !strings.HasSuffix(problems, again) {
				t.Errorf("%s: exit %d, %s%s, want %s", args, code, out, problems, again)
			}
		}
	}
}
