package api

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// strangers are routes that somebody could add. The lists are of some accounts; the user u-17 may see jane and market.
func strangers(ids ...string) []route {
	stored := func(_ *projections.Lists, _ context.Context, _ string, s projections.Slice) (
		p projections.Page[string], _ error,
	) {
		for _, id := range ids {
			if id > s.After {
				p.Items = append(p.Items, id)
			}
		}
		if len(p.Items) > s.Limit {
			p.Items = p.Items[:s.Limit]
			p.Next = p.Items[s.Limit-1]
		}
		return p, nil
	}
	numbered := func(_ *projections.Lists, _ context.Context, _ string, s projections.Slice) (
		p projections.Page[string], _ error,
	) {
		after, _ := strconv.Atoi(s.After)
		p.Items = ids[after:min(len(ids), after+s.Limit)]
		if next := after + s.Limit; next < len(ids) {
			p.Next = strconv.Itoa(next)
		}
		return p, nil
	}
	viewers := client.ListBalances.May
	op := client.Op[client.AccountID, client.List[counterparty]]{
		ID: "listCounterparties", Path: "/v1/accounts/{account}/counterparties", May: viewers,
	}
	byHand := op
	byHand.Path = "/v1/accounts/{account}/by-hand"
	other := op
	other.Path = "/v1/accounts/{account}/other"
	trades := op
	trades.Path = "/v1/accounts/{account}/trades"
	return checkRules([]route{
		list(op, byAccount, those[client.AccountID](stored), func(id string) counterparty { return counterparty{id} }),
		list(trades, byNumber, those[client.AccountID](numbered), func(id string) counterparty { return counterparty{id} }),
		list(client.Op[client.UserID, client.List[partner]]{
			ID: "listPartners", Path: "/v1/users/{user}/partners", May: client.ListMemberships.May,
		}, byAccount, those[client.UserID](stored), func(id string) partner { return partner{Of: id} }),
		list(client.Op[client.UserID, client.List[nobody]]{ // whose items name nothing, but its positions do
			ID: "listNobody", Path: "/v1/users/{user}/nobody", May: client.ListMemberships.May,
		}, byAccount, those[client.UserID](stored), func(string) nobody { return nobody{} }),
		read(client.Op[client.AccountID, counterparty]{
			ID: "getCounterparty", Path: "/v1/accounts/{account}/counterparty", May: viewers,
		}, func(*api, *request, *client.AccountID) (reply, error) { return ok(counterparty{"shop"}) }),
		read(client.Op[client.AccountID, counterparty]{
			ID: "getText", Path: "/v1/accounts/{account}/text", May: viewers,
		}, func(*api, *request, *client.AccountID) (reply, error) {
			return ok(raw{mediaType: csvType, text: []byte("shop"), shows: counterparty{"jane"}})
		}),
		read(client.Op[client.AccountID, counterparty]{
			ID: "getLink", Path: "/v1/accounts/{account}/link", May: viewers,
		}, func(_ *api, r *request, _ *client.AccountID) (reply, error) {
			next := r.list("/v1/x", byAccount).cursor("shop")
			return reply{status: http.StatusOK, body: counterparty{"jane"}, next: &next}, nil
		}),
		paged(byHand, byAccount, paramCursor, func(_ *api, _ *request, _ *client.AccountID, l listed, _ projections.Slice) (
			reply, error,
		) {
			return ok(client.List[counterparty]{NextCursor: new(l.cursor("shop"))})
		}),
		paged(other, byAccount, paramCursor, func(*api, *request, *client.AccountID, listed, projections.Slice) (
			reply, error,
		) {
			return ok(client.List[counterparty]{NextCursor: new(listed{"/v1/x", byAccount}.cursor("shop"))})
		}),
	})
}

type nobody struct {
	Number int `json:"number"`
}

// A walk is what a caller gets of all pages of a list.
type walk struct {
	seen   []string // the accounts of the items
	told   []string // the positions of the cursors
	status int      // of the last page
}

func (f *fixture) walk(t *testing.T, path string, headers ...string) (all walk) {
	t.Helper()
	for cursor := ""; ; {
		w := f.do(t, http.MethodGet, path+cursor, "", headers...)
		if all.status = w.Code; w.Code != http.StatusOK {
			return all
		}
		page := answer[client.List[struct{ Account, Of string }]](t, w)
		for _, item := range page.Data {
			all.seen = append(all.seen, item.Account+item.Of)
		}
		if page.NextCursor == nil {
			return all
		}
		text, err := base64.RawURLEncoding.DecodeString(*page.NextCursor)
		if err != nil || len(all.told) > 100 {
			t.Fatalf("%s: %v after the cursors %q", path, err, all.told)
		}
		all.told = append(all.told, string(text[1+cursorListSize:len(text)-cursorSumSize]))
		cursor = "&cursor=" + *page.NextCursor
	}
}

// A user gets no answer that names an account on which they have no role, neither in a list that somebody adds, nor in
// its cursors. What names such an account is left out, and the other items are all there, once.
func TestNewRoutesDoNotLeak(t *testing.T) {
	f := newFixture(t)
	ids := []string{"fees", "jane", "margin", "market", "shop"}
	f.Handler = &api{config: f.config, routes: strangers(ids...)}
	for limit := 1; limit <= len(ids); limit++ {
		for _, path := range []string{"/v1/accounts/jane/counterparties", "/v1/users/u-17/partners"} {
			path = fmt.Sprintf("%s?limit=%d", path, limit)
			if strings.Contains(path, "accounts") {
				if all := f.walk(t, path); !slices.Equal(all.seen, ids) {
					t.Errorf("%s by a service: %+v", path, all)
				}
			}
			all := f.walk(t, path, userHeader, "u-17")
			if !slices.Equal(all.seen, []string{"jane", "market"}) || !areOf(all.told, "jane", "market") {
				t.Errorf("%s by a user: %+v", path, all)
			}
			if strings.Contains(path, "accounts") && slices.Contains(all.told, "market") {
				t.Errorf("%s by a user says that there is more than the user may see: %+v", path, all)
			}
		}
	}
	for path, status := range map[string]int{
		"/v1/accounts/jane/counterparty?": 500, "/v1/accounts/jane/by-hand?": 500, "/v1/accounts/jane/other?": 500,
		"/v1/accounts/jane/text?": 500, "/v1/accounts/jane/link?": 500,
		"/v1/users/u-17/nobody?limit=1": 503, "/v1/users/u-17/nobody?limit=2": 200, "/v1/users/u-17/nobody?limit=5": 200,
	} {
		if all := f.walk(t, path, userHeader, "u-17"); all.status != status || len(all.told) > 0 && all.told[0] != "jane" {
			t.Errorf("%s by a user: %+v", path, all)
		}
	}
	for _, said := range []string{`names the account \"shop\"`, "of another list"} {
		if !strings.Contains(f.log.String(), said) {
			t.Errorf("the log does not say %q: %s", said, f.log)
		}
	}
}

// areOf reports whether positions are some given ones.
func areOf(positions []string, given ...string) bool {
	return !slices.ContainsFunc(positions, func(p string) bool { return !slices.Contains(given, p) })
}

// A page in which all is hidden takes a bounded number of reads. If the positions of a list are no ids, the page then
// has a cursor. If they are ids, no cursor may lead on, and there is no page.
func TestLongHiddenRuns(t *testing.T) {
	for _, hidden := range []int{1, examinedMost, limitMax - accountsListed, 2 * limitMax} {
		f := newFixture(t)
		var ids []string
		for n := range hidden {
			ids = append(ids, fmt.Sprintf("a-%03d", n), fmt.Sprintf("k-%03d", n))
		}
		ids = append(ids, "jane", "market")
		slices.Sort(ids)
		f.Handler = &api{config: f.config, routes: strangers(ids...)}
		for _, limit := range []int{1, 3, 100} {
			for _, list := range []string{"accounts/jane/counterparties", "users/u-17/partners", "accounts/jane/trades"} {
				f.asked.Store(0)
				path := fmt.Sprintf("/v1/%s?limit=%d", list, limit)
				all := f.walk(t, path, userHeader, "u-17")
				isByID := !strings.HasSuffix(list, "trades")
				switch isTooLong := isByID && hidden > limitMax; {
				case isTooLong && (all.status != http.StatusServiceUnavailable || len(all.told) > 0):
					t.Errorf("%s, %d hidden: %+v", path, hidden, all)
				case !isTooLong && !slices.Equal(all.seen, []string{"jane", "market"}):
					t.Errorf("%s, %d hidden: %+v %s", path, hidden, all, f.log)
				case isByID && !areOf(all.told, "jane", "market"):
					t.Errorf("%s, %d hidden, has the cursors %q", path, hidden, all.told)
				}
				const ofItem = 3 // the newest grant, the groups, and the grants in these
				if n := f.asked.Load() / int64(len(all.told)+1); n > (2*limitMax)*ofItem {
					t.Errorf("%s, %d hidden: %d requests for a page", path, hidden, n)
				}
				f.log.Reset()
			}
		}
	}
}

// Positions are of their forms only, and tell of what they name.
func TestPositions(t *testing.T) {
	ksuid := string(events.FirstKSUID(instant))
	for _, c := range []struct {
		at             positions
		position, told string
		valid          bool
	}{
		{byAccount, "", "", true},
		{byAccount, "jane", "account jane", true},
		{byAccount, "jane#x", "", false},
		{byAsset, "USD", "asset USD", true},
		{byBalance, "jane", "account jane", true},
		{byBalance, "jane#USD", "account jane asset USD", true},
		{byBalance, "jane#", "", false},
		{byRole, "jane", "account jane", true},
		{byRole, "#", "", true},
		{byRole, "#desk", "group desk", true},
		{byRole, "#desk#jane", "group desk account jane", true},
		{byRole, "#desk#", "", false},
		{byRole, "jane#USD", "", false},
		{byNumber, "7", "", true},
		{byNumber, "seven", "", false},
		{byKSUID, ksuid, "", true},
		{byKSUID, "jane", "", false},
		{byPosting, ksuid + "#t-1", "transaction t-1", true},
		{byPosting, ksuid, "", false},
		{byExpiry, events.FormatTime(instant) + "#t-1", "transaction t-1", true},
		{inJournal, ksuid + "#3", "", true},
	} {
		var told []string
		valid := listed{at: c.at}.tell(c.position, func(named client.Named, id string) {
			told = append(told, string(named)+" "+id)
		})
		if got := strings.Join(told, " "); valid != c.valid || got != c.told {
			t.Errorf("%q is valid: %t, and names %q", c.position, valid, got)
		}
	}
}
