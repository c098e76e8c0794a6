package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
)

// stored is an answer about a stored transaction: the transaction, or a refusal.
type stored struct {
	ID, Kind, Actor              string
	Status                       any    // a word, or the number of a problem
	Quantity                     string // of a balance
	Postings, Captured, Reversed []shownLeg

	Code      string
	Detail    string
	Errors    []client.FieldError
	Left      []shownLeg
	Account   string
	Asset     string
	Available string
	Requested string
}

type shownLeg struct{ Account, Asset, Quantity, Cost string }

// read decodes an answer.
func read(w *httptest.ResponseRecorder) (s stored) {
	_ = json.Unmarshal(w.Body.Bytes(), &s) // the answer to a batch has none of these members
	return s
}

// terms are the words of an answer in which a leg could be recognized. Amounts in these tests have at least 4 digits.
type terms map[string]bool

func (t terms) add(l shownLeg) {
	t[l.Account], t[l.Asset] = true, true
	t.amount(l.Quantity)
	t.amount(l.Cost)
}

func (t terms) amount(a string) {
	if a = strings.TrimPrefix(a, "-"); len(a) >= 4 {
		t[a] = true
	}
}

var (
	words   = regexp.MustCompile(`\w+`)
	aboutAt = regexp.MustCompile(`^postings\[(\d+)\]`)
)

// leak returns what an answer to a user reveals of the legs that the user may not see, "" if nothing. all is the
// transaction, and refusal the answer to an administrator's same request.
func leak(w *httptest.ResponseRecorder, all, refusal stored, sees func(account string) bool) string {
	hidden, seen := terms{}, terms{}
	for _, legs := range [][]shownLeg{
		all.Postings, all.Captured, all.Reversed, refusal.Postings, refusal.Captured, refusal.Left,
		{{Account: refusal.Account, Asset: refusal.Asset, Quantity: refusal.Available, Cost: refusal.Requested}},
	} {
		sums := map[bool]int64{} // of each side's legs that the user sees: whoever sees all of one side knows its sum
		for _, l := range legs {
			if !sees(l.Account) {
				hidden.add(l)
				continue
			}
			seen.add(l)
			quantity, _ := strconv.ParseInt(l.Quantity, 10, 64)
			sums[quantity < 0] += quantity
		}
		for _, sum := range sums {
			seen.amount(fmt.Sprint(sum))
		}
	}
	maps.DeleteFunc(hidden, func(term string, _ bool) bool { return seen[term] || term == "" })
	text := requestID.ReplaceAllString(w.Body.String(), "")
	for name, values := range w.Header() {
		if name != "X-Request-Id" {
			text += fmt.Sprint(values)
		}
	}
	for _, word := range words.FindAllString(text, -1) {
		if hidden[word] {
			return "it names " + word
		}
	}
	for _, e := range read(w).Errors { // its rule may tell a sign
		if account, ok := all.accountOf(e); ok && !sees(account) {
			return fmt.Sprintf("it has a rule for a hidden posting: %+v", e)
		}
	}
	return ""
}

// accountOf returns the account of the posting that a rule is about. ok is false if it is about no single posting.
func (s stored) accountOf(e client.FieldError) (account string, ok bool) {
	at := aboutAt.FindStringSubmatch(e.Field)
	if at == nil {
		return "", false
	}
	i, _ := strconv.Atoi(at[1])
	if i >= len(s.Postings) {
		return "", false
	}
	return s.Postings[i].Account, true
}

// lacks returns what a refusal to a user lacks of that to an administrator, although the user may see it.
func lacks(got, want stored, sameStatus bool, all stored, sees func(string) bool) string {
	for _, e := range want.Errors {
		account, ok := all.accountOf(e)
		if ok && sees(account) && !slices.Contains(got.Errors, e) {
			return fmt.Sprintf("it lacks %+v", e)
		}
	}
	for _, l := range want.Left {
		if sees(l.Account) && !slices.Contains(got.Left, l) {
			return fmt.Sprintf("it lacks %+v", l)
		}
	}
	isSame := got.Account == want.Account && got.Available == want.Available && got.Detail == want.Detail
	isNamed := func(l shownLeg) bool { return sees(l.Account) && strings.Contains(want.Detail, l.Account) }
	switch {
	case !sameStatus || got.Code != want.Code:
		return "an administrator gets " + want.Code
	case want.Code != "" && got.Detail == "":
		return "it has no detail"
	case slices.ContainsFunc(all.Postings, isNamed) && !isSame:
		return "it lacks what it says of the user's own account"
	}
	return ""
}
