package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"ledger.example/tests/declared"
)

// A command derives its arguments, its flags and what it prints from the declaration of its operation.
func TestDeclaredOperation(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = r.Method + " " + r.URL.Path + " " + string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"ketch","name":"Ketch","masts":2,"port":"home","built_at":"2026-11-21T09:00:00.000000Z"}`)
	}))
	t.Cleanup(server.Close)
	execute := func(args ...string) (string, error) {
		var out bytes.Buffer
		env := newEnvironment(nil, &out, io.Discard, os.Getenv)
		cmd := operation(env, declared.PutBoat, "put BOAT", printFields[declared.Boat](env))
		cmd.SetArgs(append(args, "--url", server.URL))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		err := cmd.ExecuteContext(t.Context())
		_ = env.out.Flush()
		return out.String(), err
	}
	printed, err := execute("ketch", "--name", "Ketch", "--masts", "2", "--port", "home")
	if wanted := `PUT /v1/boats/ketch {"name":"Ketch","masts":2,"port":"home"}`; err != nil || sent != wanted {
		t.Errorf("sent %s, %v", sent, err)
	}
	for _, line := range []string{"Boat   ketch", "Name   Ketch", "Masts  2", "Port   home", "Built  2026-11-21"} {
		if !strings.Contains(printed, line) {
			t.Errorf("printed\n%s, without %q", printed, line)
		}
	}
	for _, wrong := range [][]string{
		{"ketch"}, {"ketch", "--name", "Ketch", "--masts", "6"}, {"ketch", "--name", "Ketch", "--port", "-"}, {"--name", "Ketch"},
	} {
		if _, err := execute(wrong...); err == nil {
			t.Errorf("%v is accepted", wrong)
		}
	}
	var table bytes.Buffer
	env := newEnvironment(nil, &table, io.Discard, os.Getenv)
	if err := printItems[declared.Boat](env)([]declared.Boat{{ID: "ketch", Name: "Ketch", Masts: 2}}, true); err != nil {
		t.Fatal(err)
	}
	_ = env.out.Flush()
	if heading, _, _ := strings.Cut(table.String(), "\n"); strings.Join(strings.Fields(heading), " ") != "BOAT NAME MASTS PORT" {
		t.Errorf("the heading is %q", heading)
	}
}
