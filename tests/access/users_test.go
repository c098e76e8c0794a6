package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/functions/access"
	"ledger.example/tests/harness/full"
)

// In a book, users with roles on some of the accounts post, and end and reverse what others posted. Each answer must be
// the one that the roles allow: a denial, or what an administrator gets, without what the user may not see.

// denial returns the code and the fields of the denial that a user must get for a post, "" for none.
func (b *book) denial(user string, p post) string {
	for code, role := range map[string]access.Role{"account_not_found": access.Viewer, "forbidden": access.Operator} {
		if code == "forbidden" && b.denied(user, p, access.Viewer) != nil {
			continue
		}
		if fields := b.denied(user, p, role); fields != nil {
			return fmt.Sprint(code, fields)
		}
	}
	return ""
}

// denied returns the fields with the accounts that need a role, and on which the user's role is below role.
func (b *book) denied(user string, p post, role access.Role) (fields []string) {
	for _, n := range p.named {
		isNeeded := func(of namedAccount) bool { return of.account == n.account && of.needsRole }
		if slices.ContainsFunc(p.named, isNeeded) && b.role(user, n.account) < role {
			fields = append(fields, n.field)
		}
	}
	return fields
}

// got returns the code and the fields of a denial, "" for any other answer.
func (s stored) got() string {
	if s.Code != "account_not_found" && s.Code != "forbidden" {
		return ""
	}
	var fields []string
	for _, e := range s.Errors {
		fields = append(fields, inBatch.ReplaceAllString(e.Field, ""))
	}
	return fmt.Sprint(s.Code, fields)
}

var inBatch = regexp.MustCompile(`requests\[\d+\]\.(transfer|trade|transaction|capture|release|reversal)\.?`)

// step makes one change or sends one request. It returns what is wrong with the answer, "" if nothing.
func (b *book) step() string {
	user := one(b, bookUsers...)
	switch b.random.IntN(10) {
	case 0:
		switch b.random.IntN(4) {
		case 0:
			time.Sleep(time.Minute) // some holds expire
		case 1:
			b.must("PATCH /v1/accounts/" + bookAccounts[0] + ` {"state":"` + one(b, "open", "frozen") + `"}`)
		default:
			b.grant(user)
		}
	case 1, 2, 3:
		return b.tryPost(user)
	case 4:
		return b.tryBatch(user)
	default:
		return b.tryChange(user)
	}
	return ""
}

// grant changes a role of a user, on an account or in the group.
func (b *book) grant(user string) {
	account := one(b, bookAccounts...)
	role := one(b, access.None, access.Viewer, access.Operator, access.Operator, access.Operator)
	path := "/v1/accounts/" + account + "/members/" + user
	if b.random.IntN(5) == 0 {
		path = "/v1/groups/even/members/" + user
		b.member[user] = role
	} else {
		b.direct[user+account] = role
	}
	if role == access.None {
		b.must("DELETE " + path)
	} else {
		b.must("PUT " + path + ` {"role":"` + role.String() + `"}`)
	}
}

// instance returns a random instance of the API.
func (b *book) instance() http.Handler { return b.all[b.random.IntN(len(b.all))] }

func (b *book) tryPost(user string) string {
	soon := fmt.Sprintf(`,"hold":{"expires_at":%q}`, time.Now().Add(time.Minute/2).Format(time.RFC3339))
	p, hold := b.draw(), one(b, "", "", `,"hold":{}`, soon)
	if b.random.IntN(4) == 0 {
		user = "" // an administrator
	}
	wanted := read(send(b.admin, "POST "+p.line("?dry_run=true", hold), ""))
	line := "POST " + p.line(one(b, "", "", "", "?dry_run=true"), hold)
	w := send(b.instance(), line, user)
	got := read(w)
	b.codes["post "+got.Code]++
	want := ""
	if user != "" {
		want = b.denial(user, p)
	}
	switch {
	case got.got() != want:
		return fmt.Sprintf("%s by %s: want %q, got %s", line, user, want, w.Body)
	case want == "" && got.Code != wanted.Code:
		return fmt.Sprintf("%s by %s: an administrator gets %q: %s", line, user, wanted.Code, w.Body)
	case w.Code == 201:
		b.posted = append(b.posted, p.id)
	}
	return ""
}

// tryBatch sends several posts as one batch.
func (b *book) tryBatch(user string) string {
	atomic, query := one(b, true, false), one(b, "", "?dry_run=true")
	posts, requests := make([]post, 1+b.random.IntN(4)), []string(nil)
	for i := range posts {
		posts[i] = b.draw()
		requests = append(requests, fmt.Sprintf(`{"%s":%s}`, posts[i].kind, posts[i].body))
	}
	line := fmt.Sprintf(`POST /v1/batches%s {"atomic":%t,"requests":[%s]}`, query, atomic, strings.Join(requests, ","))
	w := send(b.instance(), line, user)
	var got struct {
		stored
		Results []struct{ Body stored }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		return fmt.Sprintf("%s by %s: %v: %s", line, user, err, w.Body)
	}
	b.codes["batch "+got.Code]++
	for i, p := range posts {
		want := b.denial(user, p)
		answer := got.stored
		if got.Results != nil {
			answer = got.Results[i].Body
		}
		if answer.got() != want && (!atomic || want != "" || got.Results != nil) {
			return fmt.Sprintf("request %d of %s by %s: want %q, got %s", i, line, user, want, w.Body)
		}
		if atomic && want != "" {
			return "" // the batch was refused for this request
		}
		if query == "" && got.Results != nil && answer.Code == "" {
			b.posted = append(b.posted, p.id)
		}
	}
	return ""
}

// tryChange captures, releases or reverses a transaction.
func (b *book) tryChange(user string) string {
	id, action := one(b, b.posted...), one(b, "reversals", "reversals", "reversals", "capture", "release")
	all := read(send(b.admin, "GET /v1/transactions/"+id, ""))
	if all.Status == any("held") {
		action = one(b, "capture", "capture", "release", "reversals")
	}
	body := "{}"
	if action != "release" {
		body = b.take(all, action)
	}
	line := "POST /v1/transactions/" + id + "/" + action
	refusal := read(send(b.admin, line+"?dry_run=true "+body, ""))
	query := one(b, "", "?dry_run=true")
	line += query + " " + body
	var w *httptest.ResponseRecorder
	if b.random.IntN(3) == 0 {
		line, w = b.changeInBatch(user, id, action, query, body)
		query = ""
	} else {
		w = send(b.instance(), line, user)
	}
	got := read(w)
	b.codes[action+" "+got.Code]++
	sees := func(account string) bool { return account == "" || b.role(user, account) > access.None }
	want := b.denialOf(user, all, action, body)
	wrong := leak(w, all, refusal, sees)
	switch {
	case wrong != "":
	case want != "" && got.Code != want, want == "" && (w.Code == http.StatusForbidden || w.Code == http.StatusNotFound):
		wrong = fmt.Sprintf("want the denial %q", want)
	case want == "":
		wrong = lacks(got, refusal, true, all, sees)
	}
	if query != "" && w.Code >= 300 && wrong == "" {
		if real := send(b.instance(), strings.Replace(line, query, "", 1), user); withoutID(real) != withoutID(w) {
			wrong = fmt.Sprintf("a dry run answers otherwise than %s", real.Body)
		}
	}
	if wrong != "" {
		return fmt.Sprintf("%s by %s: %s: %s", line, user, wrong, w.Body)
	}
	if w.Code == 201 {
		b.posted = append(b.posted, got.ID)
	}
	return ""
}

// changeInBatch sends a capture, a release or a reversal in a batch of its own, and returns the answer as if it had been
// sent alone.
func (b *book) changeInBatch(user, id, action, query, body string) (line string, alone *httptest.ResponseRecorder) {
	kind, fields := strings.TrimSuffix(action, "s"), strings.TrimSuffix(strings.TrimPrefix(body, "{"), "}")
	if fields != "" {
		fields = "," + fields
	}
	line = fmt.Sprintf(`POST /v1/batches%s {"atomic":%t,"requests":[{"%s":{"transaction":"%s"%s}}]}`, query, one(b, true, false),
		kind, id, fields)
	w := send(b.instance(), line, user)
	var got struct {
		Results []struct {
			Status int
			Body   json.RawMessage
		}
	}
	_ = json.Unmarshal(w.Body.Bytes(), &got)
	alone = httptest.NewRecorder()
	alone.Code = w.Code
	text := w.Body.String()
	if got.Results != nil {
		alone.Code, text = got.Results[0].Status, string(got.Results[0].Body)
	}
	alone.Body.WriteString(inBatch.ReplaceAllString(text, ""))
	return line, alone
}

// denialOf returns the code of the denial that a user must get who ends or reverses a transaction, "" for none.
func (b *book) denialOf(user string, all stored, action, body string) string {
	var p struct{ Postings []shownLeg }
	_ = json.Unmarshal([]byte(body), &p)
	seen, weak := false, false
	for i, l := range all.Postings {
		isOut, isZero := strings.HasPrefix(l.Quantity, "-"), l.Quantity == "0"
		if action == "reversals" {
			isOut = !isOut
			if i < len(p.Postings) && p.Postings[i].Quantity == "0" && p.Postings[i].Cost == "0" {
				isOut, isZero = false, false
			}
		}
		role := b.role(user, l.Account)
		seen = seen || role > access.None
		weak = weak || (isOut || isZero) && role < access.Operator
	}
	_, byUser := access.UserOf(all.Actor)
	switch {
	case !seen:
		return "transaction_not_found"
	case weak, action != "reversals" && !byUser:
		return "forbidden"
	}
	return ""
}

// Users get what their roles allow in random histories, and see nothing else.
func TestUsersInRandomHistories(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // a bubble's clock starts in 2000, before the first time of a KSUID
		codes := make(map[string]int)
		for seed := range full.Count(6, 18) {
			b := newBook(newFleet(t, nil), uint64(seed), codes)
			for i := range 300 {
				if wrong := b.step(); wrong != "" {
					t.Fatalf("seed %d, step %d: %s", seed, i, wrong)
				}
			}
		}
		t.Log(codes)
		for _, code := range []string{
			"capture ", "capture invalid_transaction", "capture unbalanced", "capture not_a_hold", "capture hold_ended",
			"capture hold_expired", "capture exceeds_hold", "capture nothing_captured", "capture forbidden",
			"capture transaction_not_found", "release ", "release not_a_hold", "release hold_ended", "release forbidden",
			"reversals ", "reversals nothing_to_reverse", "reversals exceeds_reversible", "reversals insufficient_funds",
			"reversals account_frozen", "reversals account_closed", "reversals transaction_id_reused", "reversals forbidden",
			"post ", "post account_not_found", "post forbidden", "post account_frozen", "batch ", "batch account_not_found",
		} {
			if codes[code] == 0 {
				t.Errorf("nothing is answered with %q", code)
			}
		}
	})
}
