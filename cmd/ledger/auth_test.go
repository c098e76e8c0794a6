package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Flags, else environment variables, decide whether a command signs its requests or sends a token. No output shows the
// token. Package sign tests the signatures.
func TestAuthentication(t *testing.T) {
	const secret, other = "eyJhbGciOi.eyJzdWIi.c2ln-_~+/==", "other.token"
	const signed, token = "AWS4-HMAC-SHA256 ", "Bearer " + secret
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-central-1")
	var received atomic.Value // the header of the last request
	answers := newStub(t, register())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received.Store(r.Header.Get("Authorization"))
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct{ command, sign, token, flags, sent string }{
		{"show jane", "", "", "", ""},
		{"show jane", "", "", "--sign", signed},
		{"show jane", "true", "", "", signed},
		{"show jane", "1", "", "", signed},
		{"show jane", "false", "", "", ""},
		{"show jane", "false", "", "--sign", signed},
		{"show jane", "true", "", "--sign=false", ""},
		{"show jane", "", secret, "", token},
		{"show jane", "", other, "--token " + secret, token},
		{"show jane", "true", "", "--token " + secret, token},
		{"show jane", "", secret, "--sign", signed},
		{"show jane", "", secret, "--sign=false", token},
		{"show jane", "false", secret, "", token},
		{"transfer jane shop 1 USD", "", secret, "", token},
		{"import -", "", secret, "", token},
	} {
		received.Store("")
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: s.URL, signVariable: c.sign, tokenVariable: c.token},
			strings.NewReader(`{"transfer":{"id":"t-1","from":"a","to":"b","asset":"USD","quantity":"1"}}`),
			strings.Fields(c.command+" "+c.flags)...)
		sent := received.Load().(string)
		if code != exitDone || !strings.HasPrefix(sent, c.sent) || (c.sent == "") != (sent == "") {
			t.Errorf("%+v: exit %d, %s; authorization %q", c, code, problems, sent)
		}
		if strings.Contains(out+problems, secret) || strings.Contains(out+problems, other) {
			t.Errorf("%+v shows the token: %s%s", c, out, problems)
		}
	}
}

func TestAuthenticationErrors(t *testing.T) {
	const secret = "s3cret"
	denying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(denying.Close)
	for _, c := range []struct {
		url, sign, token, command string
		code                      int
		says                      string
	}{
		{denying.URL, "", secret, "show jane", exitFailed, "the token may have expired"},
		{denying.URL, "", "", "show jane", exitFailed, "LEDGER_TOKEN"},
		{"http://ledger.example", "", secret, "show jane", exitUsage, "is not https"},
		{"http://ledger.example", "true", "", "show jane", exitUsage, "--url or LEDGER_URL: \"http://ledger.example\" is not https"},
		{denying.URL, "perhaps", "", "show jane", exitUsage, "LEDGER_SIGN must be true or false"},
		{denying.URL, "", secret + "\r\nX: y", "show jane", exitUsage, "--token or LEDGER_TOKEN: a bearer token is"},
		{denying.URL, "true", secret, "show jane", exitUsage, "LEDGER_SIGN and LEDGER_TOKEN cannot both be set"},
		{denying.URL, "", "", "show jane --sign --token " + secret, exitUsage, "[sign token] were all set"},
		{denying.URL, "", "", "show jane --token=", exitUsage, "--token must not be empty"},
		{denying.URL, "", "", "verify --token " + secret, exitUsage, "unknown flag: --token"},
		{nobody, "", "", "show jane", exitFailed, "ledger up"},
	} {
		code, out, problems := ledgerIn(t.Context(), map[string]string{urlVariable: c.url, signVariable: c.sign, tokenVariable: c.token}, nil,
			strings.Fields(c.command)...)
		if code != c.code || !strings.Contains(problems, c.says) || strings.Contains(out+problems, secret) {
			t.Errorf("%+v: exit %d: %s", c, code, problems)
		}
	}
}
