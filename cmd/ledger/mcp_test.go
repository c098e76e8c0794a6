package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ledger.example/client"
	"ledger.example/functions/api"
)

// model calls the tools of a running `ledger mcp`, as a program with a language model does.
type model struct {
	*mcp.ClientSession
	t *testing.T
}

// withModel runs `ledger mcp` on pipes, calls do, and then ends its input. Its exit code must be 0.
func withModel(t *testing.T, url string, do func(m model), args ...string) {
	t.Helper()
	in, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int)
	var problems strings.Builder
	go func() {
		code := run(t.Context(), append([]string{"mcp", "--url", url}, args...), func(string) string { return "" },
			in, out, &problems)
		_ = out.Close()
		ended <- code
	}()
	// The input outlives the session, so that the test ends it.
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.IOTransport{Reader: output, Writer: struct {
			io.Writer
			io.Closer
		}{input, io.NopCloser(nil)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	do(model{session, t})
	_ = input.Close()
	if code := <-ended; code != exitDone || problems.String() != "" {
		t.Errorf("exit %d: %s", code, &problems)
	}
}

// call returns the texts of an answer.
func (m model) call(name, arguments string) (answer string, isError bool) {
	m.t.Helper()
	result, err := m.CallTool(m.t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range result.Content {
		answer += c.(*mcp.TextContent).Text + "\n"
	}
	return answer, result.IsError
}

// must fails the test unless a call succeeds and its answer has the texts.
func (m model) must(name, arguments string, texts ...string) {
	m.t.Helper()
	answer, isError := m.call(name, arguments)
	if isError {
		m.t.Errorf("%s %s: %s", name, arguments, answer)
	}
	says(m.t, answer, texts...)
}

// refused fails the test unless a call is an error with the texts.
func (m model) refused(name, arguments string, texts ...string) {
	m.t.Helper()
	answer, isError := m.call(name, arguments)
	if !isError {
		m.t.Errorf("%s %s: %s", name, arguments, answer)
	}
	says(m.t, answer, texts...)
}

// names returns the names of the tools.
func (m model) names() (names []string) {
	for tool, err := range m.Tools(m.t.Context(), nil) {
		if err != nil {
			m.t.Error(err)
			return nil
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// operations returns the ids of the declared operations that a predicate accepts.
func operations(accept func(client.Operation) bool) (ids []string) {
	for _, o := range api.Operations() {
		if o.ID != "" && accept(o) {
			ids = append(ids, o.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// A model reads the ledger, and posts to it only with --allow-writes.
func TestMCP(t *testing.T) {
	const (
		pay   = `{"id":"pay-1","from":"market","to":"jane","asset":"USD","quantity":"700"}`
		spent = `{"id":"pay-2","from":"jane","to":"market","asset":"USD","quantity":"99999999"}`
		of    = `{"account":"jane","asset":"USD","consistency":"strong"}`
	)
	code, problems := runUp(t, func(_ context.Context, url string) {
		withModel(t, url, func(m model) {
			reads := operations(func(o client.Operation) bool { return o.Method == http.MethodGet })
			if got := m.names(); !slices.Equal(got, reads) {
				t.Errorf("tools %v, want %v", got, reads)
			}
			m.must("getBalance", of, `"quantity":"350000"`)
			m.must("listPostings", `{"account":"jane","asset":"USD","limit":1}`, `"next_cursor":"`)
			m.must("listTransactions", `{"metadata.order":"nothing"}`, `"data":[]`)
			m.refused("getBalance", `{"account":"j ane","asset":"USD"}`, `account: \"j ane\" is not an id`)
			m.refused("getBalance", `{"account":"jane"}`, `asset: \"\" is not an id`)
			m.refused("getStatement", `{"account":"jane","asset":"USD"}`, `"field":"from"`, `"rule":"`)
			m.refused("listPostings", `{"account":"jane","limit":101}`, `"field":"limit","rule":"must be a whole`)
			m.refused("getMe", `{"dry_run":true}`, `"field":"dry_run"`)
			m.refused("postTransfer", pay, "unknown tool")
		})
		withModel(t, url, func(m model) {
			all := operations(func(o client.Operation) bool { return o.ID != client.PostBatch.ID })
			if got := m.names(); !slices.Equal(got, all) {
				t.Errorf("tools %v, want %v", got, all)
			}
			m.must("openAccount", `{"account":"kiosk","name":"Kiosk"}`, `"id":"kiosk"`)
			m.must("openAccount", `{"account":"kiosk","name":"Kiosk"}`, "The same was written before.")
			m.must("grantMember", `{"account":"kiosk","user":"ann","role":"viewer"}`, `"role":"viewer"`)
			m.must("postTransfer", strings.Replace(pay, "{", `{"dry_run":"true",`, 1), `"dry_run":true`)
			m.refused("getTransaction", `{"id":"pay-1"}`, "transaction_not_found")
			m.must("postTransfer", pay, `"id":"pay-1"`, `"status":"posted"`)
			m.must("postTransfer", pay, `"id":"pay-1"`, "The same was written before.")
			m.must("getBalance", of, `"quantity":"350700"`)
			m.refused("postTransfer", strings.Replace(pay, "700", "800", 1), "transaction_id_reused")
			m.refused("postTransfer", spent, "insufficient_funds", `"available":"350700"`)
			m.refused("postTransfer", `{"id":"pay-3","from":"market"}`, `"field":"quantity"`, `"rule":"`)
			m.refused("postTransfer", strings.Replace(spent, "{", `{"dry_run":"yes",`, 1), "dry_run: must be true or false")
			m.refused("openAccount", `{"account":"kiosk","name":"Kiosk","dry_run":true}`, `"field":"dry_run"`)
			m.must("reverseTransaction", `{"transaction":"pay-1","id":"back-1"}`, `"id":"back-1"`)
			answer, _ := m.call("postTransfer", strings.Replace(pay, `"id":"pay-1",`, "", 1))
			var made struct{ ID string }
			if err := json.Unmarshal([]byte(answer), &made); err != nil || made.ID == "" {
				t.Errorf("without an id: %s", answer)
			}
			m.must("getTransaction", `{"id":"`+made.ID+`"}`, `"quantity":"700"`)
		}, "--allow-writes")
		withModel(t, url, func(m model) {
			m.must("getMe", `{}`, `"user":"ann"`)
			m.must("getAccount", `{"account":"kiosk"}`, `"name":"Kiosk"`)
			m.refused("getAccount", `{"account":"jane"}`, "account_not_found")
			m.refused("postTransfer", pay, "account_not_found")
			m.refused("postTransfer", `{"from":"kiosk","to":"shop","asset":"USD","quantity":"1"}`, `"code":"forbidden"`)
		}, "--user", "ann", "--allow-writes")
		withModel(t, url, func(m model) {
			m.must("getMe", `{}`, `"user":"ann"`)
		}, documented(t)[1:]...)
	}, "--memory", "--demo")
	if code != exitDone {
		t.Errorf("exit %d: %s", code, problems)
	}
}

// documented returns the arguments that docs/integrations.md gives to the command.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "integrations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```json mcp\n")
	block, _, _ = strings.Cut(block, "```")
	var settings struct {
		Servers map[string]struct{ Args []string } `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(block), &settings); err != nil || len(settings.Servers["ledger"].Args) < 1 {
		t.Fatalf("%s: %v", block, err)
	}
	return settings.Servers["ledger"].Args
}

// A write is sent only after its dry run, with the same id. A refused dry run ends the call.
func TestMCPMakesADryRunFirst(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.URL.RequestURI()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.RawQuery == "" {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"id":"t-1"}`)
			return
		}
		_, _ = io.WriteString(w, `{"id":"t-1","dry_run":true}`)
	}))
	t.Cleanup(server.Close)
	withModel(t, server.URL, func(m model) {
		m.must("captureHold", `{"transaction":"t-1","quantity":"5"}`, `{"id":"t-1"}`)
	}, "--allow-writes")
	const path, body = "/v1/transactions/t-1/capture", ` {"quantity":"5"}`
	if want := []string{path + "?dry_run=true" + body, path + body}; !slices.Equal(sent, want) {
		t.Errorf("sent %q", sent)
	}
}

// A call that the model's program cancels ends at the API, too. The server goes on.
func TestMCPCallIsCancelled(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/me" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"as":"administrator"}`)
			return
		}
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(server.Close)
	withModel(t, server.URL, func(m model) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		_, err := m.CallTool(ctx, &mcp.CallToolParams{Name: "getAccount", Arguments: json.RawMessage(`{"account":"jane"}`)})
		if err == nil {
			t.Error("it was not cancelled")
		}
		<-ended
		m.must("getMe", `{}`, `"as":"administrator"`)
	})
}
