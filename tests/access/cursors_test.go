package access

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// The pages of a list end where that ends which a user may see: neither a cursor nor its absence tells of what is
// hidden. A cursor is a text that everybody can decode.
func TestPagesDoNotTellOfWhatIsHidden(t *testing.T) {
	t.Parallel()
	s := books(t)
	for _, group := range []string{"a-hidden", "c-hidden", "e-hidden", "z-hidden"} {
		s.Must(201, "PUT", "/v1/groups/"+group, `{"name":"Hidden"}`)
		s.Must(201, "PUT", "/v1/groups/"+group+"/accounts/jane", "")
	}
	s.Must(201, "PUT", "/v1/groups/escrow", `{"name":"Escrow"}`)
	s.Must(201, "PUT", "/v1/groups/escrow/accounts/jane", "")
	s.Must(201, "PUT", "/v1/groups/escrow/members/via-viewer", `{"role":"viewer"}`)
	s.Must(201, "POST", "/v1/transactions", `{"id":"two","postings":[{"account":"bank","asset":"USD","quantity":"-30"},`+
		`{"account":"jane","asset":"USD","quantity":"30"},{"account":"bank","asset":"USD","quantity":"-9"},`+
		`{"account":"shop","asset":"USD","quantity":"9"}]}`)
	for i, part := range strings.Fields("SHOP SHOP JANE SHOP SHOP JANE SHOP SHOP") {
		taken := `{"quantity":"-1"},{"quantity":"1"},{"quantity":"0"},{"quantity":"0"}`
		if part == "SHOP" {
			taken = `{"quantity":"0"},{"quantity":"0"},{"quantity":"-1"},{"quantity":"1"}`
		}
		s.Must(201, "POST", "/v1/transactions/two/reversals", fmt.Sprintf(`{"id":"r-%d","postings":[%s]}`, i, taken))
	}
	s.Project()
	for _, c := range []struct{ path, user, id, want string }{
		{"/v1/accounts/jane/groups", "viewer", "group", ""},
		{"/v1/accounts/jane/groups", "via-viewer", "group", "desk escrow"},
		{"/v1/accounts/jane/groups", "", "group", "a-hidden c-hidden desk e-hidden escrow z-hidden"},
		{"/v1/transactions/two/reversals", "viewer", "id", "r-2 r-5"},
		{"/v1/transactions/two/reversals", "via-viewer", "id", "r-2 r-5"},
		{"/v1/transactions/two/reversals", "", "id", "r-0 r-1 r-2 r-3 r-4 r-5 r-6 r-7"},
	} {
		want := strings.Fields(c.want)
		for limit := 1; limit <= 3; limit++ {
			var seen []string
			for cursor, pages := "", 0; ; pages++ {
				path := fmt.Sprintf("%s?limit=%d&cursor=%s", c.path, limit, cursor)
				if cursor == "" {
					path = strings.TrimSuffix(path, "&cursor=")
				}
				var as []string
				if c.user != "" {
					as = []string{"Ledger-User", c.user}
				}
				r := s.Must(200, "GET", path, "", as...)
				for i := 0; r.Value("data", i, c.id) != nil; i++ {
					seen = append(seen, r.Value("data", i, c.id).(string))
				}
				next, more := r.Value("next_cursor").(string)
				if more != (len(seen) < len(want)) {
					t.Errorf("%s as %q: more after %v: %t", path, c.user, seen, more)
				}
				text, err := base64.RawURLEncoding.DecodeString(next)
				if err != nil || c.user != "" && strings.Contains(string(text), "hidden") {
					t.Errorf("%s as %q: the cursor is %q, %v", path, c.user, text, err)
				}
				if !more || pages > 20 {
					break
				}
				cursor = next
			}
			if strings.Join(seen, " ") != c.want {
				t.Errorf("%s by %d as %q: %v, want %s", c.path, limit, c.user, seen, c.want)
			}
		}
	}
}
