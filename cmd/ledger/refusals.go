package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/console"
	"ledger.example/internal/desk/refusals"
)

// refusalsCommand is `ledger refusals`.
func (env *environment) refusalsCommand() *cobra.Command {
	var q refusals.Query
	var in insights
	since := time.Hour
	cmd := &cobra.Command{
		Use:  "refusals",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Since = time.Now().Add(-since)
			var log refusals.Log = upLog{env.url}
			if in.group != "" {
				if err := in.dial(cmd.Context()); err != nil {
					return err
				}
				log = &in
			}
			page, err := log.Refusals(cmd.Context(), q)
			if err != nil {
				return err
			}
			return env.printRefusals(page)
		},
	}
	f := cmd.Flags()
	idFlag(f, &q.ID, "id", "only those of the transaction with this id")
	idFlag(f, &q.User, flagUser, "only those of requests of this user, or for this user")
	textFlag(f, &q.Code, "code", "only those with this code, such as insufficient_funds", func(text string) error {
		if !codePattern.MatchString(text) {
			return errors.New("must be a code, such as insufficient_funds")
		}
		return nil
	})
	f.Var(checked[time.Duration]{&since, "duration", parseSince}, "since", "how far back: 90m, 36h or 7d")
	f.StringVar(&env.url, flagURL, client.DefaultURL,
		"address of a ledger that \"ledger up\" serves; or set "+urlVariable)
	f.StringVar(&in.group, "log-group", "", "log group in AWS, the output CommandLogs of the stack")
	f.StringVar(&in.region, "region", "", "AWS region of the log group (default: AWS_REGION or the profile's)")
	f.StringVar(&in.profile, "profile", "", "AWS profile with the credentials (default: AWS_PROFILE)")
	cmd.MarkFlagsMutuallyExclusive("log-group", flagURL)
	env.zoneFlag(f)
	env.formatFlags(cmd)
	return cmd
}

// parseSince parses how far back a command looks.
func parseSince(text string) (time.Duration, error) {
	back, err := parseTerm(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 90m, 36h or 7d")
	}
	return back, nil
}

// codePattern matches the codes of problems.
var codePattern = regexp.MustCompile(`^[a-z][a-z_]*$`)

// printRefusals prints a page, and says if it is not the whole.
func (env *environment) printRefusals(page refusals.Page) error {
	if env.isJSON() {
		return env.printJSON(page)
	}
	t := env.newTable(times("TIME"), words("TRANSACTION"), words("CODE"), words("REQUEST"), words("ACTOR"),
		words("REQUEST ID"))
	for _, r := range page.Data {
		t.row(events.FormatTime(r.At), orNone(&r.Transaction), r.Code, r.Method+" "+r.Route,
			r.Actor, r.RequestID)
	}
	if page.More {
		fmt.Fprintf(env.err, "There may be older ones: the log that was asked gives the newest %d, or has lost some.\n",
			len(page.Data))
	}
	return t.flush()
}

// upLog is the log of a running `ledger up`, which keeps the newest refusals and shows them beside its console.
type upLog struct{ url string }

// upTimeout bounds the wait for an answer.
const upTimeout = 10 * time.Second

// Refusals implements refusals.Log.
func (l upLog) Refusals(ctx context.Context, q refusals.Query) (page refusals.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	query := url.Values{"id": {q.ID}, "by": {q.User}, "code": {q.Code}, "since": {q.Since.Format(time.RFC3339Nano)}}
	at := l.url + console.Path + "refusals.json?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return page, usageErrorf("--url or %s: %w", urlVariable, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return page, &client.UnreachableError{URL: l.url, Err: err}
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return page, fmt.Errorf("%s does not answer for its log (%d): only a ledger that `ledger up` serves does; "+
			"for one in AWS, give --log-group", l.url, answer.StatusCode)
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return page, fmt.Errorf("the answer of %s cannot be read: %w", l.url, err)
	}
	return page, nil
}
