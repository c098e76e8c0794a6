package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"

	"ledger.example/internal/local/dynamolocal"
)

// The server of up, and the proxy of DynamoDB Local, reject requests for other hosts.
func TestAForeignHostIsRefused(t *testing.T) {
	asked := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++; _, _ = io.WriteString(w, "{}") })
	store := httptest.NewServer(handler)
	t.Cleanup(store.Close)
	discard := slog.New(slog.DiscardHandler)
	for name, url := range map[string]string{"dynamodb": proxied(t, store.URL),
		"up": served(t, func(ctx context.Context, l net.Listener) error { return Serve(ctx, "up", l, handler, discard) }),
	} {
		for host, isOwn := range map[string]bool{"localhost:8000": true, "evil.example": false, "evil.example:8000": false} {
			asked = 0
			r, err := http.NewRequest(http.MethodPost, url+"/v1/transfers", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			r.Header.Set("X-Request-Id", "r-1")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if isOwn != (resp.StatusCode == http.StatusOK) || isOwn != (asked == 1) {
				t.Errorf("%s: %s: %s, %s", name, host, resp.Status, text)
			}
			if isOwn {
				continue
			}
			var problem map[string]any
			if err := json.Unmarshal(text, &problem); err != nil || resp.StatusCode != http.StatusForbidden ||
				problem["code"] != "foreign_host" || problem["type"] != "/problems/foreign_host" ||
				problem["request_id"] != "r-1" || resp.Header.Get("X-Request-Id") != "r-1" ||
				resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %s: %s, %v, %s", name, host, resp.Status, resp.Header, text)
			}
		}
	}
}

// proxied starts the proxy of an endpoint, and returns the proxy's address.
func proxied(t *testing.T, endpoint string) string {
	t.Helper()
	return served(t, func(ctx context.Context, l net.Listener) error {
		return ServeStore(ctx, l, endpoint, slog.New(slog.DiscardHandler))
	})
}

// served starts a server, and returns its address.
func served(t *testing.T, serve func(context.Context, net.Listener) error) string {
	t.Helper()
	l, err := Listen("", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	_, port, _ := strings.Cut(l.Addr().String(), "]:")
	return "http://127.0.0.1:" + port
}

// Clients of the SDK for tables and for streams work through the proxy, and can read its rejections.
func TestSDKWorksThroughTheProxy(t *testing.T) {
	var targets []string
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		targets = append(targets, r.Header.Get("X-Amz-Target"))
		if r.Header.Get("X-Forwarded-For") != "" {
			t.Error("it adds headers")
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"TableNames":["ledger"],"Streams":[]}`)
	}))
	t.Cleanup(store.Close)
	url := proxied(t, store.URL)
	tables, err := dynamolocal.DynamoDB(url).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || fmt.Sprint(tables.TableNames) != "[ledger]" {
		t.Errorf("%v, %v", tables, err)
	}
	if _, err := dynamolocal.Streams(url).ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{}); err != nil {
		t.Error(err)
	}
	if fmt.Sprint(targets) != "[DynamoDB_20120810.ListTables DynamoDBStreams_20120810.ListStreams]" {
		t.Errorf("asked for %v", targets)
	}
	foreign := dynamolocal.DynamoDB(url, func(o *dynamodb.Options) { o.HTTPClient = renamed{} })
	_, err = foreign.ListTables(t.Context(), &dynamodb.ListTablesInput{})
	var refused smithy.APIError
	if !errors.As(err, &refused) || refused.ErrorCode() != "foreign_host" || refused.ErrorMessage() == "" {
		t.Errorf("under another name: %v", err)
	}
}

// renamed is a transport that sends requests with the Host of another machine.
type renamed struct{}

func (renamed) Do(r *http.Request) (*http.Response, error) {
	r.Host = "evil.example"
	return http.DefaultClient.Do(r)
}
