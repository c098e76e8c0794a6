package client

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// Period is a closing of the books. The one with the highest number counts.
type Period struct {
	// 1 for the first closing. Each one adds 1.
	Number int64 `json:"number" least:"1" most:"999999999999" example:"1" label:"Number"`
	// Nothing is posted with an `effective_at` before this time.
	ClosedBefore string `json:"closed_before" is:"Time" example:"2026-11-01T00:00:00.000000Z" label:"Closed before"`
	Reason       string `json:"reason" is:"Text" example:"October is audited" label:"Reason"`
	// When it was closed.
	ClosedAt string `json:"closed_at" is:"Time" example:"2026-11-21T09:00:00.000000Z" label:"Closed at"`
	Actor    string `json:"actor" is:"Actor" label:"By"`
	// Until this time, what was decided before the closing may still be posted. Statements of the period say so.
	FinalAt string `json:"final_at" is:"Time" example:"2026-11-21T09:05:00.000000Z" label:"Final at"`
}

// PeriodClosing asks for the closing with a number.
type PeriodClosing struct {
	// The number of the newest closing and 1 more.
	Number string `path:"number" is:"PeriodNumber" example:"1"`
	// At least 5 minutes ago. A time before that of the newest closing opens what is after it.
	ClosedBefore time.Time `json:"closed_before" is:"GivenTime" in:"required" example:"\"2026-11-01T00:00:00+01:00\""`
	// Why, for people.
	Reason string `json:"reason" is:"Name" in:"required" example:"October is audited"`
}

// The operations on periods.
var (
	// From the answer on, a post with an `effective_at` before that time is refused with `period_closed`, unless it was
	// decided before; from `final_at` on, nothing is posted there. All other posts, captures, releases and reversals
	// are of now, and pass. A later number may name an earlier time, which opens what is after it again. The same
	// body again gets 200.
	ClosePeriod = Op[PeriodClosing, Period]{
		ID: "closePeriod", Method: http.MethodPut, Path: "/v1/periods/{number}", Summary: "Close a period", May: admins,
		OK: "The period was closed before with the same body.", Created: "Closed.",
		Refusals: "period_exists invalid_period",
	}
	// Who closed the books, when and why, newest first. Strongly consistent.
	ListPeriods = Op[struct{}, List[Period]]{
		ID: "listPeriods", Path: "/v1/periods", Summary: "List closed periods", May: admins,
	}
)

// ClosePeriod closes the books before a time. number is that of the newest of Periods, and 1 more. The same request
// again succeeds. Errors: those of Send, with the codes period_exists and invalid_period.
func (c *Client) ClosePeriod(ctx context.Context, number int64, before time.Time, reason string) (
	Period, Written, error,
) {
	return written(ClosePeriod.Call(ctx, c, PeriodClosing{strconv.FormatInt(number, 10), before, reason}))
}

// Periods lists the closings of the books, newest first.
func (c *Client) Periods() Listing[Period] {
	return Listing[Period]{c, ListPeriods.request(struct{}{})}
}
