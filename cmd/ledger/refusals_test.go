package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/internal/desk/refusals"
)

// standIn stands in for CloudWatch Logs. It runs queries of the form of insightsQuery on lines of a log: the commands
// filter, fields, sort and limit, with =, like and or.
type standIn struct {
	lines   []map[string]any
	status  string // how queries end
	looks   atomic.Int32
	looked  func() // is called at each look; nil for nothing
	stopped atomic.Bool
	queries []string
}

// filterTerm matches a term of a filter: a field, an operator and a value.
var filterTerm = regexp.MustCompile(`^(\w+) (=|like) (?:"([^"]*)"|(\d+))$`)

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		LogGroupName, QueryString string
		StartTime, EndTime        int64
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "GetQueryResults" && s.looked != nil {
		s.looked()
	}
	switch {
	case operation == "StartQuery" && in.LogGroupName == "command-logs":
		s.queries = append(s.queries, in.QueryString)
		fmt.Fprint(w, `{"queryId":"q-1"}`)
	case operation == "StopQuery":
		s.stopped.Store(true)
		fmt.Fprint(w, `{"success":true}`)
	case operation != "GetQueryResults":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ResourceNotFoundException","message":"no such log group"}`)
	case s.looks.Add(1)%2 == 1:
		fmt.Fprint(w, `{"status":"Running","results":[]}`)
	case s.status != "Complete":
		fmt.Fprintf(w, `{"status":%q,"results":[]}`, s.status)
	default:
		results, err := s.run(s.queries[len(s.queries)-1])
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":"MalformedQueryException","message":%q}`, err)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "Complete", "results": results})
	}
}

// run returns the rows of a query.
func (s *standIn) run(query string) (rows [][]map[string]string, err error) {
	lines, fields := s.lines, []string(nil)
	for command := range strings.SplitSeq(query, " | ") {
		name, rest, _ := strings.Cut(command, " ")
		switch {
		case name == "filter":
			var kept []map[string]any
			for _, line := range lines {
				for one := range strings.SplitSeq(rest, " or ") {
					m := filterTerm.FindStringSubmatch(one)
					if m == nil {
						return nil, fmt.Errorf("unexpected %q", one)
					}
					value, has := line[m[1]]
					text := fmt.Sprint(value)
					if has && (m[2] == "=" && text == m[3]+m[4] || m[2] == "like" && strings.Contains(text, m[3])) {
						kept = append(kept, line)
						break
					}
				}
			}
			lines = kept
		case name == "fields":
			fields = strings.Split(rest, ", ")
		case command == "sort @timestamp desc":
			lines = slices.Clone(lines)
			slices.Reverse(lines)
		case command == "limit 1000":
		default:
			return nil, fmt.Errorf("unexpected %q", command)
		}
	}
	for _, line := range lines {
		row := []map[string]string{{"field": "@ptr", "value": "opaque"}}
		for _, f := range fields {
			if value, has := line[f]; has {
				row = append(row, map[string]string{"field": f, "value": fmt.Sprint(value)})
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// linesOf returns the lines of a log of `up`, as CloudWatch has them.
func linesOf(t *testing.T, log string) (lines []map[string]any) {
	t.Helper()
	for text := range strings.Lines(log) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) != nil {
			continue // what up says to people
		}
		at, err := time.Parse(time.RFC3339Nano, line["time"].(string))
		if err != nil {
			t.Fatal(err)
		}
		line["@timestamp"] = at.UTC().Format(insightsTime)
		lines = append(lines, line)
	}
	return lines
}

// Both logs answer the same questions alike: that of `up`, which prints no line of a request by default, and a log group
// in AWS with the lines that the functions would print.
func TestRefusals(t *testing.T) {
	questions := map[string][]string{ // and the ids of the answer, newest first
		"-":                                   {"t-1", "t-3", "t-2", "t-1"},
		"--id t-1":                            {"t-1", "t-1"},
		"--id t-1 --code unbalanced":          nil,
		"--code forbidden":                    {"t-3"},
		"--user ann":                          {"t-3"},
		"--user nn":                           nil,
		"--user local":                        {"t-1", "t-2", "t-1"},
		"--since 7d --code account_not_found": {"t-2"},
	}
	ask := func(where ...string) (answers map[string][]refusals.Refusal) {
		answers = make(map[string][]refusals.Refusal)
		for question, wanted := range questions {
			args := slices.Concat([]string{"refusals", "--json"}, where)
			if question != "-" {
				args = append(args, strings.Fields(question)...)
			}
			code, out, problems := ledgerIn(t.Context(), nil, nil, args...)
			var page refusals.Page
			if err := json.Unmarshal([]byte(out), &page); code != exitDone || err != nil || page.More {
				t.Errorf("%v: exit %d: %s%s", args, code, out, problems)
			}
			var ids []string
			for i := range page.Data {
				ids = append(ids, page.Data[i].Transaction)
				page.Data[i].At = page.Data[i].At.Truncate(time.Millisecond)
			}
			if !slices.Equal(ids, wanted) {
				t.Errorf("%v: %q, want %q", args, ids, wanted)
			}
			answers[question] = page.Data
		}
		return answers
	}
	var here map[string][]refusals.Refusal
	code, log := runUp(t, func(ctx context.Context, url string) {
		refuse := func(args ...string) {
			if code, out, _ := ledger(t, url, args...); code != exitFailed {
				t.Errorf("%v: exit %d: %s", args, code, out)
			}
		}
		for _, args := range []string{"account open jane", "asset add USD --name USD --scale 2", "account open shop", "member grant ann viewer --account jane"} {
			if code, _, problems := ledger(t, url, strings.Fields(args)...); code != exitDone {
				t.Error(problems)
			}
		}
		refuse("transfer", "jane", "shop", "9.00", "USD", "--id", "t-1")
		refuse("transfer", "jane", "nobody", "9.00", "USD", "--id", "t-2")
		refuse("transfer", "jane", "shop", "9.00", "USD", "--id", "t-3", "--user", "ann")
		refuse("transfer", "jane", "shop", "8.00", "USD", "--id", "t-1")
		refuse("transfer", "jane", "shop", "8.00", "USD", "--id", "t-4", "--dry-run")
		here = ask("--url", url)
		_, out, _ := ledger(t, url, "refusals", "--id", "t-3", "--zone", "Asia/Tokyo", "--format", "table")
		says(t, out, "TIME (Asia/Tokyo)", "forbidden", "POST /v1/transfers", "ann via local")
		_, out, _ = ledger(t, url, "refusals", "--id", "t-3", "--format", "csv")
		says(t, out, "time,transaction,code,request,actor,request_id\n", ",t-3,forbidden,POST /v1/transfers,ann via local,")
	}, "--memory", "--verbose", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, log)
	}
	s := &standIn{lines: linesOf(t, log), status: "Complete"}
	useStandIn(t, s)
	there := ask("--log-group", "command-logs")
	if !maps.EqualFunc(here, there, slices.Equal) {
		t.Errorf("the log of up says %v, and CloudWatch %v", here, there)
	}
}

// useStandIn makes the SDK call a stand-in.
func useStandIn(t *testing.T, s *standIn) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

// The text of a query is what CloudWatch Logs Insights documents.
func TestInsightsQuery(t *testing.T) {
	want := `filter Refusals = 1 | filter transaction = "t-1" | filter actor = "ann" or actor like "ann via " | ` +
		`filter code = "unbalanced" | fields @timestamp, transaction, code, status, method, route, actor, request_id | ` +
		`sort @timestamp desc | limit 1000`
	if got := insightsQuery(refusals.Query{ID: "t-1", User: "ann", Code: "unbalanced"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A log that does not answer, or not wholly, is an error, and never an empty list.
func TestRefusalsThatCannotBeRead(t *testing.T) {
	s := &standIn{status: "Timeout"}
	useStandIn(t, s)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--log-group command-logs", exitFailed, "ended as Timeout"},
		{"--log-group none", exitFailed, "no such log group"},
		{"--url " + nobody, exitFailed, "no ledger answers"},
		{"--url " + newStub(t, nil).URL, exitFailed, "give --log-group"},
		{"--code Unbalanced", exitUsage, "must be a code"},
		{"--since yesterday", exitUsage, "must be a duration such as 90m"},
		{"--id t|1", exitUsage, "is not an id"},
		{"--log-group command-logs --url " + nobody, exitUsage, "none of the others can be"},
	} {
		code, out, problems := ledgerIn(t.Context(), nil, nil, append([]string{"refusals"}, strings.Fields(c.args)...)...)
		if code != c.code || out != "" || !strings.Contains(problems, c.says) {
			t.Errorf("%s: exit %d: %s%s", c.args, code, out, problems)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.status, s.looked = "Running", cancel // interrupted while the query runs
	if code, _, problems := ledgerIn(ctx, nil, nil, "refusals", "--log-group", "command-logs"); code != exitInterrupted || !s.stopped.Load() {
		t.Errorf("exit %d, stopped %t: %s", code, s.stopped.Load(), problems)
	}
}
