package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// A split of as much as fits takes from several accounts. A user needs the role on each of them, also on one that would
// give nothing, and none on the accounts that get it. A user who lacks the role learns nothing of the funds, and nothing
// is written. A dry run says what the post says.
func TestSplitsThatFitNeedARoleOnEachSource(t *testing.T) {
	t.Parallel()
	s := books(t).NewProcess(system.Calls(callerOf)) // its projector does not run, so it writes what requests write
	s.Must(201, "PUT", "/v1/accounts/card", `{}`)
	s.Must(201, "PUT", "/v1/accounts/empty", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"bank","to":"card","asset":"USD","quantity":"30"}`)
	s.Must(201, "PUT", "/v1/accounts/card/members/viewer", `{"role":"operator"}`)   // and only sees jane
	s.Must(201, "PUT", "/v1/accounts/card/members/stranger", `{"role":"operator"}`) // and nothing of jane
	s.Must(201, "PUT", "/v1/accounts/card/members/operator", `{"role":"operator"}`)
	split := func(id, how string, from ...string) string {
		return `{"id":"` + id + `","asset":"USD",` + how + `,"from":[{"account":"` + strings.Join(from, `"},{"account":"`) +
			`"}],"to":[{"account":"shop","share":"50%"},{"account":"market","rest":1}]}`
	}
	both := func(body string, as ...string) (dry, post caller.Reply) {
		return s.Send("POST", "/v1/splits?dry_run=true", body, as...), s.Send("POST", "/v1/splits", body, as...)
	}
	const ten, much = `"up_to":"10"`, `"up_to":"900000000","at_least":"900000000"`
	s.Requests.Take()
	for _, how := range []string{ten, much, `"up_to":"all"`, ten + `,"hold":{}`} { // the card alone has enough for ten
		for at, from := range [][]string{{"jane", "card"}, {"card", "jane"}} {
			body := split("s-1", how, from...)
			dry, post := both(body, "Ledger-User", "viewer")
			field := fmt.Sprintf("[from[%d].account]", at)
			if !isForbidden(post, "operator") || fmt.Sprint(post.Fields()) != field || alike(dry) != alike(post) {
				t.Errorf("%s by a viewer of jane: %d %s; a dry run: %s", body, post.Status, post.Body, dry.Body)
			}
			dry, post = both(body, "Ledger-User", "stranger")
			if !isNotFound(post, client.PostSplit.Untyped()) || alike(dry) != alike(post) {
				t.Errorf("%s by a stranger: %d %s; a dry run: %s", body, post.Status, post.Body, dry.Body)
			}
			for _, hidden := range []string{"jane", "bank", "empty"} { // of bank, "all" would be refused
				from[at] = hidden
				_, got := both(split("s-1", how, from...), "Ledger-User", "stranger")
				from[at] = "gone"
				_, missing := both(split("s-1", how, from...), "Ledger-User", "stranger")
				if alike(got) != strings.ReplaceAll(alike(missing), "gone", hidden) {
					t.Errorf("%s of %s: %s, want %s", how, hidden, got.Body, missing.Body)
				}
			}
		}
	}
	for _, r := range s.Requests.Take() {
		if strings.Contains(r.Operation, "Put") || strings.Contains(r.Operation, "Update") || strings.Contains(r.Operation, "Write") {
			t.Errorf("written: %s", r.Line())
		}
	}

	// The operator may debit both, and sees neither shop nor market. The answer has what the request named.
	as := []string{"Ledger-User", "operator"}
	dry, post := both(split("s-2", `"up_to":"50","at_least":"50"`, "card", "jane"), as...)
	for _, r := range []caller.Reply{dry, post} {
		if fmt.Sprint(r.Each("account", "postings")) != "[card jane shop market]" ||
			fmt.Sprint(r.Each("quantity", "postings")) != "[-30 -20 25 25]" || r.Status >= 300 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	fixedDry, fixed := both(`{"id":"s-3","asset":"USD","quantity":"50","from":"jane",`+
		`"to":[{"account":"shop","share":"50%"},{"account":"market","rest":1}]}`, as...)
	if keys(fixed) != keys(post) || keys(fixedDry) != keys(dry) {
		t.Errorf("shows %s, and a dry run %s; a split of a quantity %s and %s", keys(post), keys(dry), keys(fixed), keys(fixedDry))
	}
	for _, id := range []string{"s-2", "s-3"} {
		if r := s.Must(200, "GET", "/v1/transactions/"+id, "", as...); r.Value("hidden_postings") == nil ||
			strings.Contains(string(r.Body), "shop") || strings.Contains(string(r.Body), "market") {
			t.Errorf("a read shows hidden postings: %s", r.Body)
		}
	}
	dry, post = both(split("s-4", much, "card", "jane"), as...)
	if post.Code() != "insufficient_funds" || post.Text("account") != "jane" || alike(dry) != alike(post) {
		t.Errorf("too little: %s; a dry run: %s", post.Body, dry.Body)
	}
	// Accounts that would get it and do not exist, or that are hidden, look as in any split.
	for _, how := range []string{ten, `"quantity":"10"`} {
		from := `[{"account":"card"},{"account":"jane"}]`
		if how != ten {
			from = `"jane"`
		}
		body := `{"id":"s-5","asset":"USD",` + how + `,"from":` + from + `,"to":[{"account":"gone","rest":1}]}`
		dry, post = both(body, as...)
		if post.Status != 422 || post.Code() != "account_not_found" || alike(dry) != alike(post) {
			t.Errorf("%s: %s; a dry run: %s", body, post.Body, dry.Body)
		}
	}
}

// keys returns the names of an answer's members, sorted.
func keys(r caller.Reply) string {
	all, _ := r.Value().(map[string]any)
	return fmt.Sprint(slices.Sorted(maps.Keys(all)))
}
