package main

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// asked returns the requests that a command line sends to an API without any data. The answers to reads are empty
// lists.
func asked(t *testing.T, zone string, args ...string) (sent []string, code int, problems string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := r.URL.Query()
		at.Del("limit")
		sent = append(sent, r.Method+" "+r.URL.Path+" "+strings.ReplaceAll(at.Encode(), "%3A", ":"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[],"next_cursor":null}`))
	}))
	defer s.Close()
	variables := map[string]string{urlVariable: s.URL, zoneVariable: zone}
	code, _, problems = ledgerIn(t.Context(), variables, strings.NewReader(""), args...)
	return sent, code, problems
}

// Days and months begin and end in the zone of --zone, which may stand before or after them, or of LEDGER_ZONE. A day
// ends with the first instant of the next one, also if that has no midnight. A time has its own zone.
func TestDaysOfAZone(t *testing.T) {
	for _, c := range []struct{ zone, line, want string }{
		{"", "history a --from 2026-01-31 --to 2026-01-31", "from=2026-01-31T00:00:00Z&to=2026-02-01T00:00:00Z"},
		{"Europe/Berlin", "history a --from 2026-01-31 --to 2026-01-31", "from=2026-01-30T23:00:00Z&to=2026-01-31T23:00:00Z"},
		{"Europe/Berlin", "history a --from 2026-01-31 --zone UTC", "from=2026-01-31T00:00:00Z"},
		{"Nowhere", "history a --from 2026-01-31 --zone UTC", "from=2026-01-31T00:00:00Z"},
		{"", "history a --from 2026-01-31T09:00+01:00 --zone Asia/Tokyo", "from=2026-01-31T09:00:00%2B01:00"},
		{"", "history a --zone America/Asuncion --from 2023-10-01 --to 2023-10-01", "from=2023-10-01T04:00:00Z&to=2023-10-02T03:00:00Z"},
		{"", "find --day 2023-09-30 --zone America/Asuncion", "from=2023-09-30T04:00:00Z&to=2023-10-01T04:00:00Z"},
		{"", "find --from 2024-03-09 --to 2024-03-09 --zone America/Havana", "from=2024-03-09T05:00:00Z&to=2024-03-10T05:00:00Z"},
		{"", "statement a USD --month 2024-03 --zone Atlantic/Azores", "asset=USD&from=2024-03-01T01:00:00Z&to=2024-04-01T00:00:00Z"},
		{"America/Sao_Paulo", "statement a USD --month 2018-10", "asset=USD&from=2018-10-01T03:00:00Z&to=2018-11-01T03:00:00Z"},
		{"", "balance a USD --at 2023-09-02 --zone America/Santiago", "at=2023-09-03T03:59:59.999999Z"},
		{"", "find --to 9999-12-31", "to=9999-12-31T23:59:59Z"},
		{"", "find --day 2011-12-29 --zone Pacific/Apia", "from=2011-12-29T10:00:00Z&to=2011-12-30T10:00:00Z"},
		{"", "find --day 2011-12-30 --zone Pacific/Apia", ""}, // skipped
		{"", "tail --from 2026-01-31 --zone Europe/Berlin --after x", ""},
	} {
		sent, _, problems := asked(t, c.zone, strings.Fields(c.line)...)
		if c.want == "" {
			if len(sent) > 0 {
				t.Errorf("%s: %q", c.line, sent)
			}
		} else if len(sent) == 0 || !strings.HasSuffix(sent[0], " "+c.want) {
			t.Errorf("LEDGER_ZONE=%s %s: %q, want %q\n%s", c.zone, c.line, sent, c.want, problems)
		}
	}
}

// What is written takes days of the zone, too.
func TestDaysOfWrites(t *testing.T) {
	s := newStub(t, withHolds())
	s.answers["GET /v1/periods?limit=1"] = `{"data":[],"next_cursor":null}`
	for line, want := range map[string]string{
		"transfer jane shop 1 USD --effective-at 2023-10-01 --zone America/Asuncion":           `"effective_at":"2023-10-01T04:00:00Z"`,
		"transfer jane shop 1 USD --zone Europe/Berlin --hold --expires 2026-01-31":            `"expires_at":"2026-01-30T23:00:00Z"`,
		"close-books --through 2023-09-30 --zone America/Asuncion --reason x":                  `"closed_before":"2023-10-01T04:00:00Z"`,
		"close-books --through 2023-09-02 --zone America/Santiago --reason x":                  `"closed_before":"2023-09-03T04:00:00Z"`,
		"close-books --through 2024-03-09 --zone America/Havana --reason x":                    `"closed_before":"2024-03-10T05:00:00Z"`,
		"close-books --through 2024-03-30 --zone Atlantic/Azores --reason x":                   `"closed_before":"2024-03-31T01:00:00Z"`,
		"close-books --through 2018-11-03 --zone America/Sao_Paulo --reason x":                 `"closed_before":"2018-11-04T03:00:00Z"`,
		"close-books --through 2020-03-31 --zone Europe/Berlin --reason x":                     `"closed_before":"2020-03-31T22:00:00Z"`,
		"close-books --before 2020-03-31T22:00:00Z --reason x":                                 `"closed_before":"2020-03-31T22:00:00Z"`,
		"reverse stay-7 --effective-at 2026-01-31 --zone Asia/Tokyo":                           `"effective_at":"2026-01-30T15:00:00Z"`,
		"trade jane shop 1 AAPL 1 --effective-at 2026-01-31 --zone Asia/Tokyo":                 `"effective_at":"2026-01-30T15:00:00Z"`,
		"post --debit jane:USD:1 --credit shop:USD:1 --effective-at 2026-01-31 --zone GMT":     `"effective_at":"2026-01-31T00:00:00Z"`,
		"transfer jane shop 1 USD --effective-at 2026-01-31T10:00:00+01:00 --zone Asia/Tokyo ": `"effective_at":"2026-01-31T10:00:00+01:00"`,
	} {
		s.sent = nil
		_, _, problems := ledger(t, s.URL, strings.Fields(line)...)
		if len(s.sent) != 1 || !strings.Contains(s.sent[0], want) {
			t.Errorf("%s: sent %q, want %s\n%s", line, s.sent, want, problems)
		}
	}
}

// What is no name of the IANA database is a usage error before anything is sent: Local is another zone on each machine.
func TestWhatIsNoZone(t *testing.T) {
	for _, name := range []string{"Local", "localtime", "Nowhere", "+01:00", "europe/berlin"} {
		for _, line := range []string{"find --day 2026-01-31", "close-books --through 2026-01-31 --reason x",
			"transfer jane shop 1 USD", "trial-balance", "up --memory --port 0", "console --port 0"} {
			sent, code, problems := asked(t, "", append(strings.Fields(line), "--zone", name)...)
			if code != exitUsage || len(sent) > 0 || !strings.Contains(problems, "--zone") ||
				!strings.Contains(problems, "IANA") {
				t.Errorf("%s --zone %s: exit %d, sent %q\n%s", line, name, code, sent, problems)
			}
			sent, code, problems = asked(t, name, strings.Fields(line)...)
			if code != exitUsage || len(sent) > 0 || !strings.Contains(problems, zoneVariable+": ") {
				t.Errorf("%s=%s %s: exit %d, sent %q\n%s", zoneVariable, name, line, code, sent, problems)
			}
		}
	}
	if _, code, problems := asked(t, "Local", "show", "jane"); code == exitUsage { // a command without days
		t.Error(problems)
	}
}

// Every command that takes a time or a day takes --zone, except for a time that is no day. So do those that serve pages
// with days, and refusals and the rates of an account, for their tables.
func TestZoneGoesWithDays(t *testing.T) {
	var with []string
	each(t, func(cmd *cobra.Command) {
		takesDays := slices.Contains([]string{"up", "console", "refusals", "rates"}, cmd.Name())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			takesDays = takesDays || f.Value.Type() == "time" && f.Name != "before"
		})
		if has := cmd.Flags().Lookup(flagZone) != nil; has != takesDays {
			t.Errorf("%s: --zone %t, days %t", cmd.CommandPath(), has, takesDays)
		} else if has {
			with = append(with, cmd.Name())
		}
	})
	for _, name := range []string{"balance", "history", "statement", "trial-balance", "find", "tail", "forward",
		"transfer", "trade", "post", "reverse", "close-books"} {
		if !slices.Contains(with, name) {
			t.Errorf("%s has no --zone", name)
		}
	}
}
