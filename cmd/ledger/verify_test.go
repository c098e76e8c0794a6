package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	names "ledger.example/ledger/table"
)

// scanned serves a table that may not be described and whose every scan is answered by answer.
func scanned(t *testing.T, answer func() (status int, body string)) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusBadRequest, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"x"}`
		switch {
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan"):
			status, body = answer()
		case !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable"):
			t.Errorf("asked for %s", r.Header.Get("X-Amz-Target"))
		}
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const noItems = `{"Items":[],"Count":0,"ScannedCount":0}`

func TestVerifySaysWhatItFound(t *testing.T) {
	for _, c := range []struct {
		name, items string
		code        int
		says        []string // on standard output, as text
		found       []string // codes
	}{
		{"sound", noItems, exitDone, []string{"Sound: 0 items"}, []string{}},
		{"unknown", fmt.Sprintf(`{"Items":[{%q:{"S":"X#1"},%q:{"S":"Y\u001b[2J"},%q:{"S":"Note"}}],"Count":1,"ScannedCount":1}`, names.AttrPK, names.AttrSK, names.AttrType),
			exitFailed, []string{"unknown_item", "X#1", "stored:", `"Note"`, "recomputed:", "NOT SOUND"}, []string{"unknown_item"}},
	} {
		url := scanned(t, func() (int, string) { return http.StatusOK, c.items })
		code, out, problems := ledger(t, "", "verify", "--dynamodb-endpoint", url, "--segments", "1")
		for _, says := range c.says {
			if !strings.Contains(out, says) {
				t.Errorf("%s: %q is missing in %s", c.name, says, out)
			}
		}
		if code != c.code || (problems != "") != (c.code != exitDone) || strings.Contains(out, "\x1b") {
			t.Errorf("%s: exit %d: %q %s", c.name, code, out, problems)
		}
		code, out, _ = ledger(t, "", "verify", "--dynamodb-endpoint", url, "--segments", "1", "--json", "--max", "1")
		var report reportJSON
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, out)
		}
		codes := []string{}
		for _, f := range report.Findings {
			codes = append(codes, string(f.Code))
		}
		if code != c.code || report.Sound != (c.code == exitDone) || report.Counts.Findings != int64(len(c.found)) || fmt.Sprint(codes) != fmt.Sprint(c.found) {
			t.Errorf("%s: exit %d: %s", c.name, code, out)
		}
	}
}

// Of what was not read to its end nothing is said.
func TestVerifyThatDidNotEndIsNoVerdict(t *testing.T) {
	denied := scanned(t, func() (int, string) {
		return http.StatusBadRequest, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no scans"}`
	})
	code, out, problems := ledger(t, "", "verify", "--dynamodb-endpoint", denied)
	if code != exitFailed || out != "" || !strings.Contains(problems, "nothing is proved") || !strings.Contains(problems, "no scans") {
		t.Errorf("exit %d, %q: %s", code, out, problems)
	}

	ctx, interrupt := context.WithCancel(t.Context())
	interrupted := scanned(t, func() (int, string) { interrupt(); return http.StatusOK, noItems })
	var o, e bytes.Buffer
	code = run(ctx, []string{"verify", "--json", "--dynamodb-endpoint", interrupted}, func(string) string { return "" }, strings.NewReader(""), &o, &e)
	if code != exitFailed || o.String() != "" || !strings.Contains(e.String(), "interrupted") {
		t.Errorf("exit %d, %q: %s", code, o.String(), e.String())
	}
}

func TestVerifyUsedWrongly(t *testing.T) {
	for _, c := range []struct{ flag, value string }{
		{"--segments", "0"}, {"--segments", "17"}, {"--settle", "-1s"}, {"--max", "-1"}, {"--rate", "-1"}, {"--rate", "NaN"}, {"--rate", "Inf"}, {"--dynamodb-endpoint", "here"},
	} {
		code, out, problems := ledger(t, "", "verify", c.flag, c.value)
		if code != exitWrongUse || out != "" || !strings.Contains(problems, c.flag) {
			t.Errorf("%s %s: exit %d, %q: %s", c.flag, c.value, code, out, problems)
		}
	}
	if code, _, problems := ledger(t, "", "verify", "here"); code != exitWrongUse {
		t.Errorf("an argument: exit %d: %s", code, problems)
	}
}
