package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// hostile is text that breaks a shell command without quoting, or that is displayed misleadingly.
const hostile = "it's \"$HOME\" `touch harm` $(touch harm) ' ; touch harm; ' '\\'' \\ \\' \\\\\" !! * ~ # & | < > %s {a,b}\n" +
	"touch harm\r\t\x1b[31m\x7f\u202E\u2066\u200D\u2028 \u00e9\u4e2d\u05d0 \U0001F600 \uFFFD"

var commandElement = regexp.MustCompile(`(?s)<pre tabindex="0"><code>(.*?)</code></pre>`)

// commands returns the shell commands on the page of a transaction.
func (s *site) commands(id string) (lines []string) {
	s.Helper()
	for _, found := range commandElement.FindAllStringSubmatch(s.get("transactions/"+id, http.StatusOK), -1) {
		lines = append(lines, html.UnescapeString(found[1]))
	}
	return lines
}

// run runs a command in bash in an empty directory. It returns the headers and the body that curl received. Other users
// of the machine can read the arguments of a process, so no secret may be one.
func (s *site) run(line string) string {
	s.Helper()
	for _, r := range line {
		if r < ' ' || r > '~' {
			s.Errorf("the command has the non-printable character %U: %s", r, line)
		}
	}
	command := exec.CommandContext(s.Context(), "bash", "-uc",
		`curl() { case "$*" in *"${AWS_SECRET_ACCESS_KEY-none}"*|*"${LEDGER_TOKEN-none}"*) echo a secret >&2; exit 1; esac
			command curl --silent --show-error --max-time 30 --dump-header - "$@"; }; `+line)
	command.Dir = s.TempDir()
	var problems bytes.Buffer
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		s.Fatalf("%s: %v: %s", line, err, problems.Bytes())
	}
	if left, err := os.ReadDir(command.Dir); err != nil || len(left) > 0 {
		s.Errorf("%s created the files %v, %v", line, left, err)
	}
	return string(out)
}

// checkReplays runs the commands of a transaction: wrote writes, which must be replays, and one read.
func (s *site) checkReplays(id string, wrote int) {
	s.Helper()
	lines := s.commands(id)
	if len(lines) != wrote+1 {
		s.Fatalf("%s has the commands %q, want %d", id, lines, wrote+1)
	}
	for i, line := range lines {
		answer := s.run(line)
		replayed := strings.Contains(strings.ToLower(answer), "\nidempotent-replayed: true")
		if !strings.HasPrefix(answer, "HTTP/1.1 200 ") || replayed != (i < wrote) || !strings.Contains(answer, `"`+id+`"`) {
			s.Errorf("%s: %s\n%s", id, line, answer)
		}
	}
}

// text encodes a string as JSON.
func text(t string) string {
	b, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// The commands on the page of a transaction, which created it and ended its hold, are replays when run in a shell.
func TestCommandsReplay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	notes := fmt.Sprintf(`"description":%s,"metadata":{"order":"1001","a ' key $(touch harm)":%s}`,
		text(hostile), text(hostile))
	later := time.Now().Add(36 * time.Hour).UTC().Format(`"2006-01-02T15:04:05.000001Z"`)
	post := func(path, body string) {
		s.ledger.Must(http.StatusCreated, "POST", "/v1/"+path, `{`+notes+`,`+body+`}`)
	}
	const (
		move = `"from":"bank","to":"jane","asset":"USD","quantity":"2500"`
		deal = `"asset":"AAPL","buyer":"jane","seller":"bank","quantity":"10"`
		legs = `"postings":[{"account":"bank","asset":"USD","quantity":"-2500"},{"account":"bank","asset":"AAPL","quantity":"-3","cost":"-7"},` +
			`{"account":"jane","asset":"USD","quantity":"2400"},{"account":"jane","asset":"AAPL","quantity":"3","cost":"7"},{"account":"shop","asset":"USD","quantity":"100"}]`
	)
	const sides = `"postings":[{"account":"bank","asset":"USD","quantity":"-10"},{"account":"jane","asset":"USD","quantity":"6"},{"account":"shop","asset":"USD","quantity":"4"}]`
	made := map[string]int{}
	for id, c := range map[string]struct{ path, body string }{
		"transfer":         {"transfers", move},
		"transfer-before":  {"transfers", move + `,"effective_at":"2026-01-02T03:04:05.000006+02:00"`},
		"trade":            {"trades", deal + `,"cost":"150000"`},
		"trade-settled":    {"trades", deal + `,"cost":"150000","settle":true`},
		"trade-gift":       {"trades", deal + `,"cost":"0"`},
		"trade-no-cash":    {"trades", deal + `,"cost":"0","settle":true`},
		"legs":             {"transactions", legs},
		"legs-before":      {"transactions", legs + `,"effective_at":"2026-01-02T03:04:05Z"`},
		"hold":             {"transfers", move + `,"hold":{}`},
		"hold-until":       {"transfers", move + `,"hold":{"expires_at":` + later + `}`},
		"hold-of-all":      {"transfers", move + `,"hold":{}`},
		"hold-of-part":     {"transfers", move + `,"hold":{"expires_at":` + later + `}`},
		"hold-released":    {"transfers", move + `,"hold":{}`},
		"hold-trade":       {"trades", deal + `,"cost":"150000","settle":true,"hold":{}`},
		"hold-gift":        {"trades", deal + `,"cost":"0","settle":true,"hold":{"expires_at":` + later + `}`},
		"hold-legs":        {"transactions", legs + `,"hold":{}`},
		"hold-legs-of-all": {"transactions", legs + `,"hold":{}`},
		"sides":            {"transactions", sides},
		"hold-sides":       {"transactions", sides + `,"hold":{}`},
	} {
		post(c.path, `"id":"`+id+`",`+c.body)
		made[id] = 1
	}
	for id, end := range map[string]struct{ how, body string }{
		"hold-of-all":      {"capture", `{}`},
		"hold-of-part":     {"capture", `{"quantity":"1"}`},
		"hold-released":    {"release", `{"description":` + text(hostile) + `}`},
		"hold-trade":       {"capture", `{"quantity":"9","cost":"5"}`},
		"hold-gift":        {"capture", `{"quantity":"9"}`},
		"hold-legs":        {"capture", `{"postings":[{"quantity":"-7"},{"quantity":"-3","cost":"0"},{"quantity":"0"},{"quantity":"3","cost":"0"},{"quantity":"7"}]}`},
		"hold-legs-of-all": {"capture", `{}`},
		"hold-sides":       {"capture", `{"quantity":"7"}`},
	} {
		s.ledger.Must(http.StatusOK, "POST", "/v1/transactions/"+id+"/"+end.how, end.body)
		made[id] = 2
	}
	for id, c := range map[string]struct{ of, part string }{
		"back-of-part":  {"transfer", `,"quantity":"2000"`},
		"back-of-trade": {"trade-settled", `,"quantity":"1","cost":"0"`},
		"back-of-cost":  {"trade", `,"quantity":"0","cost":"3"`},
		"back-of-all":   {"trade-no-cash", ``},
		"back-of-legs": {"legs-before", `,"postings":[{"quantity":"-100"},{"quantity":"0","cost":"0"},{"quantity":"0"},{"quantity":"0","cost":"0"},{"quantity":"100"}],` +
			`"effective_at":"2026-01-02T03:04:05Z"`},
		"back-of-hold":  {"hold-legs", ``},
		"back-of-sides": {"sides", `,"quantity":"7"`},
	} {
		post("transactions/"+c.of+"/reversals", `"id":"`+id+`"`+c.part)
		made[id] = 1
	}
	post("transactions/transfer/reversals", `"id":"back-of-rest"`)
	made["back-of-rest"] = 1
	for id, wrote := range made {
		s.checkReplays(id, wrote)
	}
}

// For a user, the commands have the header Ledger-User. Commands that the user may not send are not shown.
func TestCommandsOfAUser(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"1"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"operator"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/shop/members/u-17", `{"role":"viewer"}`)
	for _, account := range []string{"jane", "shop"} {
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/"+account+"/members/u-18", `{"role":"viewer"}`)
	}
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-19", `{"role":"operator"}`)
	for user, wrote := range map[string]int{"u-17": 1, "u-18": 0, "u-19": 0} { // u-19 does not see all postings
		s.browser.Jar = nil
		s.viewAs(user)
		for _, line := range s.commands("t-1") {
			if !strings.Contains(line, "Ledger-User: "+user) {
				t.Errorf("%s has no user", line)
			}
		}
		s.checkReplays("t-1", wrote)
	}
}
