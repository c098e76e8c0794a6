package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"ledger.example/internal/desk/refusals"
)

const (
	// insightsPause is the time between two looks at a query that runs.
	insightsPause = 500 * time.Millisecond
	// insightsTime is the form of @timestamp, in UTC.
	insightsTime = "2006-01-02 15:04:05.000"
)

// insights is a log group in AWS, which CloudWatch Logs Insights reads. A query costs by what it reads.
type insights struct {
	group, region, profile string

	api *cloudwatchlogs.Client
}

// dial connects to AWS. It checks that there are credentials.
func (in *insights) dial(ctx context.Context) error {
	o := operator{region: in.region, profile: in.profile}
	c, err := o.config(ctx)
	if err != nil {
		return err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return noCredentials(err)
	}
	in.api = cloudwatchlogs.NewFromConfig(c)
	return nil
}

// insightsQuery returns the text of a query. Each value was checked: it is an id or a code, so it has no quotes.
func insightsQuery(q refusals.Query) string {
	lines := []string{"filter Refusals = 1"}
	if q.ID != "" {
		lines = append(lines, fmt.Sprintf(`filter transaction = "%s"`, q.ID))
	}
	if q.User != "" { // it may find others, whose names end in the same: they are left out afterwards
		lines = append(lines, fmt.Sprintf(`filter actor = "%s" or actor like "%[1]s%s"`, q.User, refusals.Via))
	}
	if q.Code != "" {
		lines = append(lines, fmt.Sprintf(`filter code = "%s"`, q.Code))
	}
	return strings.Join(append(lines, "fields @timestamp, transaction, code, status, method, route, actor, request_id",
		"sort @timestamp desc", fmt.Sprintf("limit %d", refusals.Most)), " | ")
}

// Refusals implements refusals.Log.
func (in *insights) Refusals(ctx context.Context, q refusals.Query) (page refusals.Page, err error) {
	started, err := in.api.StartQuery(ctx, &cloudwatchlogs.StartQueryInput{
		LogGroupName: &in.group, QueryString: aws.String(insightsQuery(q)),
		StartTime: aws.Int64(q.Since.Unix()), EndTime: aws.Int64(time.Now().Unix()),
	})
	if err != nil {
		return page, fmt.Errorf("ask CloudWatch Logs Insights: %w", err)
	}
	rows, err := in.results(ctx, *started.QueryId)
	if err != nil {
		return page, err
	}
	page.Data, page.More = []refusals.Refusal{}, len(rows) >= refusals.Most
	for _, row := range rows {
		r, err := refusalOf(row)
		if err != nil {
			return page, err
		}
		if q.Has(r) {
			page.Data = append(page.Data, r)
		}
	}
	return page, nil
}

// results waits until a query is complete. A query that failed has no result: a part is never taken for the whole.
func (in *insights) results(ctx context.Context, id string) ([][]types.ResultField, error) {
	running := []types.QueryStatus{types.QueryStatusScheduled, types.QueryStatusRunning, types.QueryStatusUnknown}
	for {
		out, err := in.api.GetQueryResults(ctx, &cloudwatchlogs.GetQueryResultsInput{QueryId: &id})
		switch {
		case ctx.Err() != nil: // it must not run on at a cost
			_, err := in.api.StopQuery(context.WithoutCancel(ctx), &cloudwatchlogs.StopQueryInput{QueryId: &id})
			return nil, errors.Join(context.Cause(ctx), err)
		case err != nil:
			return nil, fmt.Errorf("read the results of CloudWatch Logs Insights: %w", err)
		case out.Status == types.QueryStatusComplete:
			return out.Results, nil
		case !slices.Contains(running, out.Status):
			return nil, fmt.Errorf("the query of CloudWatch Logs Insights ended as %s", out.Status)
		}
		select {
		case <-ctx.Done():
		case <-time.After(insightsPause):
		}
	}
}

// refusalOf returns the refusal in a row of results. A field that the line lacks is not in it.
func refusalOf(row []types.ResultField) (r refusals.Refusal, err error) {
	value := make(map[string]string)
	for _, f := range row {
		value[aws.ToString(f.Field)] = aws.ToString(f.Value)
	}
	if r.At, err = time.Parse(insightsTime, value["@timestamp"]); err != nil {
		return r, fmt.Errorf("a result of CloudWatch Logs Insights: %w", err)
	}
	r.Status, _ = strconv.Atoi(value["status"]) // 0: the line has none
	r.Transaction, r.Code, r.Method = value["transaction"], value["code"], value["method"]
	r.Route, r.Actor, r.RequestID = value["route"], value["actor"], value["request_id"]
	return r, nil
}
