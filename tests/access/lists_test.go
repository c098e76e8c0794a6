package access

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/functions/api"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// readers are the users who read every list. The first one has no role.
var readers = []string{"stranger", "viewer", "via-viewer"}

// fill gives each list of books some items, of which readers may see some. So cursors can tell of hidden ones. The
// hidden accounts in a row are more than a page reads at once.
func fill(s *system.System) {
	for i := range 45 {
		id := fmt.Sprintf("m-hidden-%02d", i)
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"overdraft":"unlimited"}`)
		s.Must(201, "POST", "/v1/transfers", `{"id":"paid-`+id+`","from":"`+id+`","to":"jane","asset":"GOLD","quantity":"7"}`)
	}
	for i, id := range []string{"a-hidden", "b-known", "c-hidden", "k-hidden", "n-known", "q-hidden", "z-hidden"} {
		s.Must(201, "PUT", "/v1/groups/"+id, `{"name":"A group"}`)
		s.Must(201, "PUT", "/v1/accounts/"+id+"-account", `{"overdraft":"unlimited"}`)
		s.Must(201, "PUT", "/v1/groups/"+id+"/accounts/"+id+"-account", "")
		s.Must(201, "PUT", "/v1/groups/"+id+"/accounts/jane", "")
		if strings.HasSuffix(id, "-known") {
			s.Must(201, "PUT", "/v1/groups/desk/accounts/"+id+"-account", "")
			s.Must(201, "PUT", "/v1/groups/"+id+"/members/viewer", `{"role":"viewer"}`)
			s.Must(201, "PUT", "/v1/groups/"+id+"/members/via-viewer", `{"role":"viewer"}`)
			s.Must(201, "PUT", "/v1/accounts/"+id+"-account/members/viewer", `{"role":"viewer"}`)
		}
		s.Must(200, "PATCH", "/v1/accounts/jane", `{"name":"`+fmt.Sprint("Jane ", i)+`"}`)
		from := `"from":"` + id + `-account","to":"jane","asset":"GOLD","quantity":"7"`
		s.Must(201, "POST", "/v1/transfers", `{"id":"paid-`+id+`",`+from+`}`)
		s.Must(201, "POST", "/v1/transfers", `{"id":"held-`+id+`",`+from+`,"hold":{}}`)
		s.Must(201, "POST", "/v1/transactions/t-1/reversals", fmt.Sprintf(`{"id":"back-%d","quantity":"1","cost":"0"}`, i))
	}
	rate := func(per string) string { return `{"asset":"GOLD","per":"` + per + `","quantity":"1000000000"}` }
	s.Must(200, "PATCH", "/v1/accounts/jane", `{"rates":[`+rate("day")+`,`+rate("week")+`,`+rate("month")+`]}`)
}

// variants returns the requests for a route: with each value of a parameter, and with the numbers 0 and 1.
func variants(path string, r client.Operation) []string {
	all := []string{path}
	for _, f := range client.FieldsOf(r.In) {
		values := f.Choices()
		if f.Type == reflect.TypeFor[*int]() {
			values = []string{"0", "1"}
		}
		if f.Query == "" {
			continue
		}
		for _, value := range values {
			query := f.Query + "=" + url.QueryEscape(value)
			if f.With == "asset" {
				query += "&asset=USD"
			}
			all = append(all, path+caller.Separator(path)+query)
		}
	}
	return all
}

// A list is what a user gets of all pages of a list.
type list struct {
	items  []string
	pages  int
	isOpen bool // the last page has no items, although it is not the first one
}

// walk reads all pages of a list, and checks that no answer tells of what the user may not know. ok is false after an
// answer that is no page.
func (k *known) walk(t *testing.T, path, user string, limit int) (all list, ok bool) {
	t.Helper()
	path += caller.Separator(path) + "limit=" + strconv.Itoa(limit)
	for request := path; ; {
		var page struct {
			Data []json.RawMessage
			Next *string `json:"next_cursor"`
		}
		forms := []string{"text/csv", "application/json"}
		for _, form := range forms[min(1, all.pages):] {
			headers := []string{"Accept", form, "Ledger-User", user}
			if user == "" { // a service
				headers = headers[:2]
			}
			r := k.s.Send("GET", request, "", headers...)
			if at := k.unknownIn(r, request, user); at != "" && user != "" {
				t.Errorf("%s tells %s of %s: %s", request, user, at, withCursors(string(r.Body)))
			}
			if r.Status == 500 {
				t.Errorf("%s as %s: %s", request, user, r.Body)
			}
			if ok = r.Status == 200; !ok {
				return all, false
			}
			_ = json.Unmarshal(r.Body, &page) // the other form is none
		}
		for _, item := range page.Data {
			all.items = append(all.items, string(item))
		}
		all.pages++
		all.isOpen = len(page.Data) == 0 && all.pages > 1
		if page.Next == nil {
			return all, true
		}
		if all.pages > 200 {
			t.Fatalf("%s as %s does not end", path, user)
		}
		request = path + "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// reads calls do with each route that reads for users, and with the path of a request of a user to it.
func reads(t *testing.T, s *system.System, do func(r client.Operation, path, user string)) {
	t.Helper()
	for _, r := range api.Operations() {
		if r.ID == "" || r.Method != "GET" || r.May.On == client.OnLedger {
			continue
		}
		for _, user := range readers {
			_, path, _ := request(t, s, r, user, 0)
			for _, path := range variants(path, r) {
				do(r, path, user)
			}
		}
	}
}

// No page of any list tells a user of what the user may not know, in whatever steps it is read: not in its items, and
// not in its cursors. A cursor is a text that everybody can decode. However large the pages are, they have the same
// items. Lists of an account and of a transaction end with an item that the user may see.
func TestPagesDoNotTellOfWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := books(t)
	fill(s)
	s.Project()
	known, most := newKnown(s), make(map[string]int)
	reads(t, s, func(r client.Operation, path, user string) {
		whole, ok := known.walk(t, path, user, 100)
		if !ok || !r.IsPage() {
			return
		}
		most[r.ID] = max(most[r.ID], len(whole.items))
		for _, limit := range []int{1, 3} {
			parts, _ := known.walk(t, path, user, limit)
			isSum := r.ID == client.GetGroupTotals.ID // a page has sums
			if !isSum && !slices.Equal(parts.items, whole.items) {
				t.Errorf("%s by %d as %s: %q, want %q", path, limit, user, parts.items, whole.items)
			}
			if mayEndEmpty := r.May.On == client.OnThemselves || isSum; parts.isOpen && !mayEndEmpty {
				t.Errorf("%s by %d as %s: a cursor tells that there is more than the user may see", path, limit, user)
			}
		}
	})
	for id, items := range most {
		if items < 3 {
			t.Errorf("no user sees 3 items of %s: add some to fill, and some that are hidden", id)
		}
	}
}

// The same is true for seconds after roles were revoked, when the lists are still as before. A page may then be refused.
func TestPagesAfterARevocation(t *testing.T) {
	t.Parallel()
	s := system.New(t, system.Calls(callerOf))
	openRoles(s)
	fill(s)
	s.DeliverAll()
	for _, lost := range []string{
		"/v1/groups/desk/accounts/b-known-account", "/v1/groups/b-known/members/viewer",
		"/v1/groups/n-known/members/via-viewer", "/v1/accounts/n-known-account/members/viewer",
		"/v1/groups/n-known/accounts/n-known-account", "/v1/groups/b-known/accounts/jane",
	} {
		s.Must(200, "DELETE", lost, "")
	}
	known := newKnown(s)
	reads(t, s, func(r client.Operation, path, user string) {
		for _, limit := range []int{1, 3, 100} {
			known.walk(t, path, user, limit)
		}
	})
}

// Users see the groups and the reversals of which they may see something, and no more. A service sees all.
func TestListsWithoutWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := books(t)
	fill(s)
	s.Must(201, "POST", "/v1/transactions", `{"id":"two","postings":[{"account":"bank","asset":"USD","quantity":"-30"},`+
		`{"account":"jane","asset":"USD","quantity":"30"},{"account":"bank","asset":"USD","quantity":"-9"},`+
		`{"account":"shop","asset":"USD","quantity":"9"}]}`)
	for i, of := range strings.Fields("SHOP SHOP JANE SHOP SHOP JANE SHOP SHOP") {
		taken := `{"quantity":"-1"},{"quantity":"1"},{"quantity":"0"},{"quantity":"0"}`
		if of == "SHOP" {
			taken = `{"quantity":"0"},{"quantity":"0"},{"quantity":"-1"},{"quantity":"1"}`
		}
		s.Must(201, "POST", "/v1/transactions/two/reversals", fmt.Sprintf(`{"id":"r-%d","postings":[%s]}`, i, taken))
	}
	s.Project()
	known := newKnown(s)
	for _, c := range []struct{ path, user, id, want string }{
		{"/v1/accounts/jane/groups", "viewer", "group", "b-known n-known"},
		{"/v1/accounts/jane/groups", "via-viewer", "group", "b-known desk n-known"},
		{"/v1/accounts/jane/groups", "via-owner", "group", "desk"},
		{"/v1/accounts/jane/groups", "", "group", "a-hidden b-known c-hidden desk k-hidden n-known q-hidden z-hidden"},
		{"/v1/transactions/two/reversals", "viewer", "id", "r-2 r-5"},
		{"/v1/transactions/two/reversals", "via-viewer", "id", "r-2 r-5"},
		{"/v1/transactions/two/reversals", "", "id", "r-0 r-1 r-2 r-3 r-4 r-5 r-6 r-7"},
	} {
		for limit := 1; limit <= 3; limit++ {
			all, _ := known.walk(t, c.path, c.user, limit)
			var got []string
			for _, item := range all.items {
				got = append(got, caller.Reply{Body: []byte(item)}.Text(c.id))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s by %d as %q: %s, want %s", c.path, limit, c.user, got, c.want)
			}
		}
	}
}
