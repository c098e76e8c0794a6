package access

import (
	"bytes"
	"fmt"
	"testing"

	"ledger.example/tests/harness/caller"
)

// No answer to a post names reversals: not the first one, not its replay once there are some, and no dry run.
func TestPostsNameNoReversals(t *testing.T) {
	t.Parallel()
	s := books(t)
	posts := func(status int, path, body string) caller.Reply {
		t.Helper()
		r := s.Must(status, "POST", "/v1/"+path, body)
		if bytes.Contains(r.Body, []byte(`"reversals"`)) {
			t.Errorf("%s %s names reversals: %s", path, body, r.Body)
		}
		return r
	}
	const legs = `"postings":[{"account":"bank","asset":"USD","quantity":"-3"},{"account":"jane","asset":"USD","quantity":"3"}]`
	const transfer = `"from":"bank","to":"jane","asset":"USD","quantity":"3"`
	all := [][2]string{ // first the posts, then what ends and reverses them
		{"transactions", `{"id":"p-1",` + legs + `}`},
		{"transfers", `{"id":"p-2",` + transfer + `}`},
		{"transfers", `{"id":"p-3",` + transfer + `,"hold":{}}`},
		{"transactions/p-3/capture", `{"quantity":"2"}`},
		{"batches", `{"atomic":false,"requests":[{"transfer":{"id":"p-4",` + transfer + `}}]}`},
		{"batches", `{"atomic":true,"requests":[{"transfer":{"id":"p-5",` + transfer + `}}]}`},
	}
	for i := range 5 {
		all = append(all, [2]string{fmt.Sprintf("transactions/p-%d/reversals", i+1), fmt.Sprintf(`{"id":"b-%d"}`, i+1)})
	}
	for i, of := range all {
		status := 201
		if i == 3 || i == 4 { // a capture, and a batch that is not atomic
			status = 200
		}
		posts(200, of[0]+"?dry_run=true", of[1])
		posts(status, of[0], of[1])
	}
	for _, of := range all {
		posts(200, of[0], of[1])
		posts(200, of[0]+"?dry_run=true", of[1])
	}
	for i := range 5 {
		s.Must(200, "GET", fmt.Sprintf("/v1/transactions/p-%d", i+1), "").Shows(t, map[string]any{
			"reversals 0": fmt.Sprintf("b-%d", i+1)})
	}
}
