package faults

import (
	"errors"
	"maps"
	"reflect"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/system"
)

// An item of a form that only newer code knows fails the requests that need it, and neither a debit nor a rebuild
// changes it.
func TestItemsOfNewerFormsAreLeftAlone(t *testing.T) {
	const transfer = `{"id":"n-1","from":"jane","to":"bank","asset":"USD","quantity":"1"}`
	for kind, request := range map[string][3]string{
		table.Spend.Type:      {"POST", "/v1/transfers", transfer},
		table.Balance.Type:    {"GET", "/v1/accounts/jane/balances/USD?consistency=strong", ""},
		table.Summary.Type:    {}, // only the projector reads it
		table.Current.Type:    {"GET", "/v1/accounts/jane", ""},
		table.Membership.Type: {"GET", "/v1/accounts/jane/members", ""},
		table.Grouped.Type:    {"GET", "/v1/groups/desk/accounts", ""},
		table.Hold.Type:       {"GET", "/v1/accounts/jane/holds", ""},
		table.OpenHold.Type:   {}, // only its key is read
		table.Tagged.Type:     {}, // likewise
		table.Listed.Type:     {"GET", "/v1/transactions", ""},
		table.Journal.Type:    {"GET", "/v1/journal", ""},
	} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := tampered(t, system.Pumped, system.Indexed("order"))
				s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"viewer"}`)
				s.Must(201, "PUT", "/v1/groups/desk", `{}`)
				s.Must(201, "PUT", "/v1/groups/desk/accounts/jane", ``)
				s.Must(200, "PATCH", "/v1/accounts/jane", `{"name":"J","metadata":{"order":"7"}}`)
				s.Must(201, "POST", "/v1/transfers",
					`{"id":"h-1","from":"jane","to":"bank","asset":"USD","quantity":"1","hold":{}}`)
				project(s)
				newer := make(map[table.Key]table.Item)
				for k, item := range s.Contents() {
					if table.Read(item).Text(table.AttrType) == kind {
						item[table.AttrForm] = table.Integer(events.Form + 1)
						s.Put(item)
						newer[k] = item
					}
				}
				if request[0] != "" {
					s.Must(500, request[0], request[1], request[2])
				}

				v, refused := table.NewTable(s.Client, s.Table), 0
				run := repair.New(repair.Config{Table: v, Append: projections.NewLister(v, nil, nil, nil).Append,
					Report: func(r rebuild.Report) {
						if errors.Is(r.Err, table.ErrNewerForm) {
							refused++
						}
					}})
				if err := run.Run(t.Context()); errors.Is(err, table.ErrNewerForm) {
					refused++
				}
				isRead := kind != table.Spend.Type && kind != table.Current.Type // by a rebuild
				if len(newer) == 0 || (refused > 0) != isRead {
					t.Errorf("%d items, refused %d times", len(newer), refused)
				}
				after := s.Contents()
				maps.DeleteFunc(after, func(k table.Key, _ table.Item) bool { return newer[k] == nil })
				if !reflect.DeepEqual(after, newer) {
					t.Errorf("%v, which were %v", after, newer)
				}
			})
		})
	}
}
