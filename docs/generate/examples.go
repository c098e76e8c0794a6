package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/tests/harness/openapi"
	"ledger.example/tests/harness/system"
)

// scenario has the requests whose answers are the examples of openapi.json: a line each, of the status, the method, the
// path and the body. The line "deliver" projects what was written.
//
//go:embed examples.txt
var scenario string

// exitTB is the testing.TB of the test helpers outside a test. A failure ends the program.
type exitTB struct{ testing.TB }

func (exitTB) Helper()                           {}
func (exitTB) Name() string                      { return "books" }
func (exitTB) Context() context.Context          { return context.Background() }
func (exitTB) Cleanup(func())                    {} // the program's exit cleans up
func (exitTB) Fatal(args ...any)                 { log.Fatal(args...) }
func (exitTB) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }
func (exitTB) Logf(string, ...any)               {}

// exchange is a request and its answer.
type exchange struct {
	status        int
	body, answer  json.RawMessage
	isDry, isPast bool
}

// exchanges sends the scenario to a ledger in memory, and returns the exchanges of each operation, by its ID. Ids of
// postings, times and cursors are replaced, so that they are the same each time.
func exchanges(operations []client.Operation) map[string][]exchange {
	all, clean := map[string][]exchange{}, cleaner()
	db := system.MemoryAt(time.Now)
	const clerk = "arn:aws:iam::123456789012:user/clerk#AIDACKCEVSQ6C2EXAMPLE"
	l := db.Serve(exitTB{}, db.NewTable(exitTB{}), system.Actor(clerk))
	for line := range strings.Lines(scenario) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if parts[0] == "deliver" {
			l.DeliverAll()
			continue
		}
		e, body := exchange{}, ""
		if len(parts) == 4 {
			body = parts[3]
			e.body = json.RawMessage(body)
		}
		e.status, _ = strconv.Atoi(parts[0])
		reply := l.Must(e.status, parts[1], parts[2], body, "X-Request-Id", "request-1")
		e.answer = clean(string(reply.Body))
		path, query, _ := strings.Cut(parts[2], "?")
		e.isDry, e.isPast = strings.Contains(query, "dry_run"), strings.Contains(query, "at=")
		i := slices.IndexFunc(operations, func(o client.Operation) bool {
			return o.Method == parts[1] && openapi.Fits(o.Path, path)
		})
		if i < 0 {
			log.Fatalf("examples.txt: the API does not serve %s", line)
		}
		all[operations[i].ID] = append(all[operations[i].ID], e)
	}
	return all
}

// cleaner returns a function that replaces what differs each time in an answer.
func cleaner() func(answer string) json.RawMessage {
	begin, known := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), map[string]string{}
	changing := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z|"[0-9A-Za-z]{27}"`)
	cursor := regexp.MustCompile(`"next_cursor":"[^"]*"`)
	return func(answer string) json.RawMessage {
		answer = changing.ReplaceAllStringFunc(answer, func(text string) string {
			if _, ok := known[text]; !ok {
				at := begin.Add(time.Duration(len(known)) * time.Second)
				known[text] = events.FormatTime(at)
				if text[0] == '"' {
					known[text] = fmt.Sprintf("%q", events.FirstKSUID(at))
				}
			}
			return known[text]
		})
		return json.RawMessage(cursor.ReplaceAllString(answer, `"next_cursor":"AVk3xk2n0Qy-d1z5VVNEoc1w9A"`))
	}
}

// examples returns what exchanges of an operation show that fit, without repetitions, but at most three.
func (d *document) examples(o client.Operation, fits func(exchange) bool, show func(exchange) json.RawMessage) *object {
	shown := &object{}
	for _, e := range d.exchanges[o.ID] {
		is := newObject("value", show(e))
		isKnown := slices.ContainsFunc(shown.members, func(m member) bool {
			return string(textOf(m.value)) == string(textOf(is))
		})
		if fits(e) && show(e) != nil && !isKnown && len(shown.members) < 3 {
			shown.set("example"+strconv.Itoa(len(shown.members)+1), is)
		}
	}
	return shown
}
