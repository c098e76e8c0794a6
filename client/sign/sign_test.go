package sign_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/internal/desk/importer"
	"ledger.example/tests/gateway"
)

// account sets credentials and a region for the test, and hides all others.
func account(t *testing.T, token string) gateway.IAM {
	t.Helper()
	nobody(t)
	v := identity("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
	t.Setenv("AWS_ACCESS_KEY_ID", v.AccessKeyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", v.SecretAccessKey)
	t.Setenv("AWS_SESSION_TOKEN", v.SessionToken)
	t.Setenv("AWS_REGION", v.Region)
	return v
}

func identity(secret, token string) gateway.IAM {
	return gateway.IAM{
		Credentials: aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret, SessionToken: token}, Region: "eu-central-1",
	}
}

// nobody removes all credentials and configuration.
func nobody(t *testing.T) {
	t.Helper()
	for _, setting := range os.Environ() {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value) // restores it after the test
			os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "credentials"))
}

// api is a server that checks the signature of each request.
type api struct {
	*gateway.Gateway
	passed atomic.Int64
}

func newAPI(t *testing.T, v gateway.IAM) *api {
	g := &api{}
	g.Gateway = gateway.New(t, v, func(context.Context, lambdaevents.APIGatewayV2HTTPRequest) (
		lambdaevents.APIGatewayV2HTTPResponse, error,
	) {
		g.passed.Add(1)
		return lambdaevents.APIGatewayV2HTTPResponse{
			StatusCode: http.StatusOK, Headers: map[string]string{"Content-Type": "application/json"},
			Body: `{"id":"users:al@x-1","data":[],"next_cursor":null}`, // every call can parse it
		}, nil
	})
	return g
}

func (g *api) client(t *testing.T, path string) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{URL: g.URL + path, Sign: sign.New()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const oddID = "users:al@x-1"

// calls sends requests of every shape: with and without body and query, with characters that must be escaped.
func calls(t *testing.T, c *client.Client) map[string]func() error {
	ctx := t.Context()
	from := time.Date(2026, 1, 31, 12, 0, 0, 500_000_000, time.FixedZone("", 3600))
	return map[string]func() error{
		"ping":    func() error { return c.Ping(ctx) },
		"id":      func() error { _, err := c.Account(ctx, oddID); return err },
		"two ids": func() error { _, err := c.Balance(ctx, oddID, "A.b_c:d@e", true); return err },
		"cursor":  func() error { _, err := c.Balances(oddID, true).Page(ctx, "a+b/c=d~e f&g%h", 100); return err },
		"times": func() error {
			_, err := c.History(oddID, client.HistoryQuery{Asset: oddID, From: from}).Page(ctx, "", 7)
			return err
		},
		"put":     func() error { _, err := c.Send(ctx, command(client.KindAccount, `{"name":"Æ ☃"}`)); return err },
		"post":    func() error { _, err := c.Send(ctx, command(client.KindTransfer, `{"id":"users:al@x-1"}`)); return err },
		"no body": func() error { _, err := c.Send(ctx, command(client.KindTrade, "")); return err },
		"a sizeable": func() error {
			_, err := c.Send(ctx, command(client.KindTransaction, `"`+strings.Repeat("x", 200<<10)+`"`))
			return err
		},
	}
}

func command(kind client.Kind, body string) client.Command {
	return client.Command{Kind: kind, ID: oddID, Body: []byte(body)}
}

func TestSignatures(t *testing.T) {
	for _, token := range []string{"", "FwoGZXIvYXdzEXAMPLE//+token=="} {
		g := newAPI(t, account(t, token))
		for _, path := range []string{"", "/", "/prod", "/prod/"} {
			for name, call := range calls(t, g.client(t, path)) {
				if err := call(); err != nil {
					t.Errorf("token %q, path %q, %s: %v\n%v", token, path, name, err, g.Refused())
				}
			}
		}
	}
}

// settings writes the shared configuration file of AWS.
func settings(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(os.Getenv("AWS_CONFIG_FILE"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// vending creates a profile whose credentials come from a program and expire. It returns how often the program ran.
func vending(t *testing.T, v gateway.IAM, good time.Duration) func() int {
	t.Helper()
	dir := t.TempDir()
	runs, program := filepath.Join(dir, "runs"), filepath.Join(dir, "vend")
	script := fmt.Sprintf(`#!/bin/sh
echo x >>%s
echo '{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q,"Expiration":%q}'
`, runs, v.AccessKeyID, v.SecretAccessKey, time.Now().Add(good).UTC().Format(time.RFC3339))
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	settings(t, fmt.Sprintf("[profile books]\nregion = %s\ncredential_process = %s\n", v.Region, program))
	t.Setenv("AWS_PROFILE", "books")
	return func() int {
		text, err := os.ReadFile(runs)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "x")
	}
}

// Eight clients that sign at the same time load the credentials once.
func TestConcurrentSigningLoadsCredentialsOnce(t *testing.T) {
	nobody(t)
	v := identity("secret", "")
	runs := vending(t, v, time.Hour)
	g := newAPI(t, v)
	c := g.client(t, "")
	if runs() != 0 {
		t.Error("credentials were fetched before a request was signed")
	}
	const lines = 200
	run := importer.New(importer.Config{Ledger: c, Clients: 8, OnFailure: func(f importer.Failure) { t.Errorf("%+v", f) }})
	line := fmt.Sprintf(`{"asset":{"id":%q,"name":"A","scale":2}}`+"\n", oddID)
	if err := run.Run(t.Context(), strings.NewReader(strings.Repeat(line, lines))); err != nil {
		t.Error(err)
	}
	if n := g.passed.Load(); n != lines || runs() != 1 {
		t.Errorf("%d requests, signed with credentials that were fetched %d times", n, runs())
	}
}

func TestCredentialsAreRefreshedBeforeExpiry(t *testing.T) {
	nobody(t)
	v := identity("secret", "")
	runs := vending(t, v, 30*time.Second)
	g := newAPI(t, v)
	c := g.client(t, "")
	for range 2 {
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if runs() != 2 {
		t.Errorf("credentials good for half a minute were fetched %d times for two requests", runs())
	}
}

func TestRegionComesFromHost(t *testing.T) {
	account(t, "")
	for host, want := range map[string]string{
		"abc123.execute-api.us-west-2.amazonaws.com":        "us-west-2",
		"abc123.execute-api.cn-north-1.amazonaws.com.cn":    "cn-north-1",
		"a-vpce-1.execute-api.us-east-1.vpce.amazonaws.com": "us-east-1",
		"ABC123.Execute-API.us-west-2.amazonaws.com:443":    "us-west-2",
		"books.example.com":       "eu-central-1", // AWS_REGION
		"execute-api.example.com": "eu-central-1",
	} {
		r, err := http.NewRequest(http.MethodGet, "https://"+host+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := sign.New().Sign(t.Context(), r, nil, time.Now()); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if got := r.Header.Get("Authorization"); !strings.Contains(got, "/"+want+"/execute-api/aws4_request") {
			t.Errorf("%s: signed with %s, want %s", host, got, want)
		}
	}
}

// Nothing is sent, and the error names the missing setting.
func TestErrorNamesMissingSetting(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(t *testing.T)
		says string
	}{
		"no credentials":  {func(t *testing.T) { t.Setenv("AWS_REGION", "eu-central-1") }, "AWS_ACCESS_KEY_ID"},
		"half of them":    {func(t *testing.T) { t.Setenv("AWS_REGION", "eu-central-1"); t.Setenv("AWS_ACCESS_KEY_ID", "A") }, "AWS_SECRET_ACCESS_KEY"},
		"no region":       {func(t *testing.T) { t.Setenv("AWS_ACCESS_KEY_ID", "A"); t.Setenv("AWS_SECRET_ACCESS_KEY", "s") }, "AWS_REGION"},
		"no such profile": {func(t *testing.T) { t.Setenv("AWS_PROFILE", "nobodys") }, "nobodys"},
	} {
		t.Run(name, func(t *testing.T) {
			nobody(t)
			c.set(t)
			g := newAPI(t, gateway.IAM{})
			_, err := g.client(t, "").Send(t.Context(), command(client.KindAsset, "{}"))
			if n := len(g.Refused()); err == nil || !strings.Contains(err.Error(), c.says) || n != 0 {
				t.Errorf("after %d requests: %v", n, err)
			}
		})
	}
}
