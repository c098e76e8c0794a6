package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// pen signs with the time, or fails.
type pen struct {
	times []time.Time
	fails error // from the second signature on
}

func (p *pen) Sign(_ context.Context, r *http.Request, body []byte, at time.Time) error {
	p.times = append(p.times, at)
	r.Header.Set("Authorization", fmt.Sprintf("%s of %d bytes", at.Format(time.TimeOnly), len(body)))
	if len(p.times) > 1 {
		return p.fails
	}
	return nil
}

func (p *pen) Who(context.Context, *http.Request) string { return "the key in the drawer" }

func TestEachAttemptIsSignedAnew(t *testing.T) {
	s := newScript(t, problem(503, "throttled", "Retry-After", "7"), problem(504, "outcome_unknown", "Retry-After", "11"), status(201, posted))
	c, k := newClient(t, s.URL)
	p := &pen{}
	c.sign = p
	begin := k.at
	if _, err := c.Send(t.Context(), transfer); err != nil {
		t.Fatal(err)
	}
	if want := []time.Time{begin, begin.Add(7 * time.Second), begin.Add(18 * time.Second)}; !slices.Equal(p.times, want) {
		t.Errorf("signed at %v, want %v", p.times, want)
	}
}

func TestWhoIsDeniedIsTold(t *testing.T) {
	forbidden := func(date string) answer {
		return status(403, `{"Message":"Not \u001b[31mauthorized"}`, "Content-Type", "application/json", "Date", date)
	}
	for name, c := range map[string]struct {
		answer answer
		sign   Signer
		says   []string
	}{
		"not signed":    {forbidden("Sat, 21 Nov 2026 09:00:00 GMT"), nil, []string{"403", "Not  [31mauthorized", "--sign", "LEDGER_SIGN"}},
		"no permission": {forbidden("Sat, 21 Nov 2026 09:04:00 GMT"), &pen{}, []string{"the key in the drawer", "execute-api:Invoke"}},
		"clock behind":  {forbidden("Sat, 21 Nov 2026 09:17:00 GMT"), &pen{}, []string{"clock", "17m0s behind"}},
		"clock ahead":   {forbidden("Sat, 21 Nov 2026 08:30:00 GMT"), &pen{}, []string{"clock", "30m0s ahead"}},
		"not JSON":      {status(401, "<html>"), nil, []string{"401 Unauthorized; ", "--sign"}},
	} {
		s := newScript(t, c.answer)
		client, k := newClient(t, s.URL)
		client.sign = c.sign
		_, err := client.Send(t.Context(), transfer)
		var denied *DeniedError
		if !errors.As(err, &denied) || len(s.asked) != 1 || len(k.pauses) != 0 {
			t.Errorf("%s: after %d attempts: %v", name, len(s.asked), err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q is missing in %q", name, says, err)
			}
		}
	}
}

// A refusal by the gateway, or a signature that can't be made, is final for the attempt; what became of the one before stays
// unknown.
func TestADenialSaysNothingOfTheAttemptBefore(t *testing.T) {
	for name, c := range map[string]struct {
		second answer
		fails  error
	}{
		"denied":         {second: status(403, "")},
		"not found":      {second: status(404, "")},
		"nobody's":       {second: problem(401, "unauthenticated")},
		"cannot be sent": {second: status(201, posted), fails: errors.New("no credentials")},
	} {
		s := newScript(t, status(502, ""), c.second)
		client, _ := newClient(t, s.URL)
		client.sign = &pen{fails: c.fails}
		_, err := client.Send(t.Context(), transfer)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.ID != "t-1" || unknown.Attempts != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsSignedGoesOverHTTPSOnly(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://host/prod":            true,
		"http://127.0.0.1:3000":        true,
		"http://[::1]:3000/":           true,
		"http://localhost":             true,
		"http://host":                  false,
		"http://10.0.0.1":              false,
		"http://localhost.example.com": false,
		"http://127.0.0.1@example.com": false,
	} {
		if _, err := New(Config{URL: url, Sign: &pen{}}); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A redirect is not followed, so that no signature goes where nobody meant it to go.
func TestASignatureIsNotTakenElsewhere(t *testing.T) {
	elsewhere := newScript(t, status(200, posted))
	for _, code := range []int{301, 302, 307, 308} {
		s := newScript(t, status(code, "", "Location", elsewhere.URL))
		client, _ := newClient(t, s.URL)
		client.sign = &pen{}
		if _, err := client.Send(t.Context(), transfer); err == nil || len(elsewhere.asked) != 0 {
			t.Errorf("%d: %v, and elsewhere was asked %q", code, err, elsewhere.asked)
		}
	}
}
