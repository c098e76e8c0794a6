package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

// backups adds to DynamoDB Local what it lacks: restores, continuous backups and deletion protection. A restore copies
// the table of the system, as it is then, and leaves out the items that a test names.
type backups struct {
	*system.System
	leaveOut    func(table.Key) bool
	isProtected bool
	recovers    bool
}

const restoredAt = 1795338000 // 2026-11-22T09:00:00Z

// serve returns the endpoint.
func (b *backups) serve() (endpoint string) {
	target, err := url.Parse(b.Store.Endpoint)
	if err != nil {
		b.T.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: b.modify,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		answer := ""
		switch operation {
		case "RestoreTableToPointInTime":
			b.copy()
			answer = `{"TableDescription":{}}`
		case "DescribeContinuousBackups":
			status := "DISABLED"
			if b.recovers || !strings.Contains(string(body), b.Table+"-new") {
				status = "ENABLED"
			}
			answer = fmt.Sprintf(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":`+
				`{"PointInTimeRecoveryStatus":%q,"EarliestRestorableDateTime":%d,"LatestRestorableDateTime":%d}}}`, status, restoredAt-1, restoredAt+1)
		case "UpdateContinuousBackups":
			b.recovers, answer = true, `{}`
		case "UpdateTable":
			b.isProtected, answer = true, `{}`
		case "GetResourcePolicy":
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"__type":"com.amazonaws.dynamodb.v20120810#PolicyNotFoundException","message":"none"}`
		default:
			proxy.ServeHTTP(w, r)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	b.T.Cleanup(s.Close)
	return s.URL
}

// modify adds to the description of the new table what AWS says of it.
func (b *backups) modify(r *http.Response) error {
	if !strings.HasSuffix(r.Request.Header.Get("X-Amz-Target"), ".DescribeTable") || r.StatusCode != http.StatusOK {
		return nil
	}
	var answer struct{ Table map[string]any }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Table["TableName"] == b.Table+"-new" {
		answer.Table["RestoreSummary"] = map[string]any{
			"SourceTableArn":  "arn:aws:dynamodb:ddblocal:000000000000:table/" + b.Table,
			"RestoreDateTime": restoredAt, "RestoreInProgress": false,
		}
		answer.Table["DeletionProtectionEnabled"] = b.isProtected
	}
	body, err := json.Marshal(answer)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	r.Header.Del("X-Amz-Crc32")
	return err
}

// copy makes the new table.
func (b *backups) copy() {
	name := b.Table + "-new"
	if _, err := dynamolocal.CreateTable(b.T.Context(), b.Plain, name); err != nil {
		b.T.Error(err)
	}
	if _, err := b.Plain.UpdateTable(b.T.Context(), &dynamodb.UpdateTableInput{
		TableName: &name, StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	}); err != nil {
		b.T.Error(err)
	}
	for key, item := range b.Contents() {
		if b.leaveOut(key) {
			continue
		}
		if _, err := b.Plain.PutItem(b.T.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
			b.T.Error(err)
		}
	}
}

// A table is restored, rebuilt where its projections are behind its events, or ahead of them, and sound in the end. One
// whose last transaction is not whole is refused before anything is rebuilt.
func TestRestore(t *testing.T) {
	full.Only(t, reason)
	for name, c := range map[string]struct {
		leaveOut func(table.Key) bool
		status   int
		says     []string
	}{
		"whole": {func(table.Key) bool { return false }, 0, []string{"Sound"}},
		"behind": {func(k table.Key) bool {
			_, _, isBalance := table.Balance.Parse(k)
			return isBalance
		}, 0, []string{"Rebuild the projections", "Sound"}},
		"ahead": {nil, 0, []string{"show more than its events", "Sound"}}, // the last transaction is left out
		"not whole": {func(k table.Key) bool { return strings.HasPrefix(k.SK, "POSTING#AAPL#") }, 1,
			[]string{"posting_missing", "Restore an earlier moment"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := system.New(t, system.On(system.Local(t)))
			s.OpenBooks()
			before := s.Contents()
			s.Must(201, "POST", "/v1/transfers", `{"id":"~d-2","from":"~bank","to":"~shop","asset":"~USD","quantity":"1"}`)
			after := s.Contents()
			s.DeliverAll()
			b := &backups{System: s, leaveOut: c.leaveOut}
			if b.leaveOut == nil {
				b.leaveOut = func(k table.Key) bool { return before[k] == nil && after[k] != nil }
			}
			arguments := []string{
				"restore", "--dynamodb-endpoint", b.serve(), "--from", s.Table, "--at", "2026-11-22T09:00:00Z", "--table", s.Table + "-new", "--yes",
			}
			for range 2 { // the second run changes nothing, and says the same
				out, problems, status := process.Run(t, "", arguments...)
				if status != c.status {
					t.Errorf("status %d: %s%s", status, out, problems)
				}
				for _, text := range c.says {
					if !strings.Contains(out+problems, text) {
						t.Errorf("%q is missing: %s%s", text, out, problems)
					}
				}
				if status == 0 {
					c.says = []string{"Sound", "going on with it"}
				}
			}
			out, problems, status := process.Run(t, "", "verify", "--dynamodb-endpoint", s.Store.Endpoint, "--table", s.Table+"-new", "--settle", "0s")
			if status != c.status {
				t.Errorf("verify: status %d: %s%s", status, out, problems)
			}
		})
	}
}
