package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// signing runs a command line in an environment of its own, and returns the exit code and standard error.
func signing(t *testing.T, environment map[string]string, args ...string) (code int, problems string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, func(name string) string { return environment[name] }, strings.NewReader(""), &o, &e)
	return code, e.String()
}

// Whether requests are signed is said by the flag, else by the environment. What a signature is worth is tested in package
// sign.
func TestWhoSaysWhetherToSign(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-central-1")
	var authorization atomic.Value
	answers := newStub(t, register())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization.Store(r.Header.Get("Authorization"))
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct {
		variable, flag string
		signed         bool
	}{
		{"", "", false},
		{"", "--sign", true},
		{"true", "", true},
		{"1", "", true},
		{"false", "", false},
		{"false", "--sign", true},
		{"true", "--sign=false", false},
	} {
		for _, command := range []string{"balance jane AAPL", "show jane", "history jane", "transaction t-1", "transfer jane shop 1 USD",
			"trade --asset AAPL --buyer jane --seller m --quantity 10", "import /dev/null"} {
			authorization.Store("")
			code, problems := signing(t, map[string]string{urlVariable: s.URL, signVariable: c.variable}, strings.Fields(command+" "+c.flag)...)
			got := authorization.Load().(string)
			if code != exitDone || strings.HasPrefix(got, "AWS4-HMAC-SHA256 ") != c.signed {
				t.Errorf("%s=%q ledger %s %s: exit %d, %s; authorization %q", signVariable, c.variable, command, c.flag, code, problems, got)
			}
		}
	}
}

func TestWhatCannotBeSigned(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_REGION", "eu-central-1")
	here := "http://" + freeAddress(t)
	for _, c := range []struct {
		url, sign, command string
		code               int
		says               string
	}{
		{here, "true", "show jane", exitFailed, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"}, // and nobody was asked
		{here, "true", "import /dev/null", exitFailed, "AWS_PROFILE"},
		{"http://ledger.example", "true", "show jane", exitWrongUse, "--url or LEDGER_URL: \"http://ledger.example\" is not https"},
		{here, "perhaps", "show jane", exitWrongUse, "LEDGER_SIGN is \"perhaps\", and must be true or false"},
	} {
		code, problems := signing(t, map[string]string{urlVariable: c.url, signVariable: c.sign}, strings.Fields(c.command)...)
		if code != c.code || !strings.Contains(problems, c.says) {
			t.Errorf("%s %s, %s: exit %d, want %d: %s", c.url, c.sign, c.command, code, c.code, problems)
		}
	}
}
