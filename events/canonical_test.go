package events_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// drawnEvents are random events of all kinds, with every field.
var drawnEvents = sync.OnceValue(func() (all []events.Event) {
	for seed := range 500 {
		all = append(all, eventstest.Event().Example(seed))
	}
	return all
})

// TestCanonicalFormInPython: a second implementation, in Python and from what is stored, has the same canonical form and
// checksum of every kind of event, of sums of 38 digits, and of texts and metadata keys that order or escape otherwise
// in other encodings. One process gets all events.
func TestCanonicalFormInPython(t *testing.T) {
	var all []events.Event
	for _, file := range goldenFiles(t) {
		all = append(all, golden(t, file))
	}
	all = append(all, drawnEvents()...)
	for _, sum := range []events.Amount{events.MaxFolded(), events.MaxFolded().Neg()} {
		all = append(all, events.PostingRecorded{Leg: events.Leg{Quantity: sum, Cost: sum}})
	}
	for _, text := range oddTexts() {
		all = append(all, events.AccountOpened{Name: text, Profile: "{}"}, withKeys(text, text+"\ue000", text+"\U00010000"))
	}
	all = append(all, withKeys(keysInOrder...))

	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: the second implementation of the canonical form runs on it. " +
			"Install Python 3 (on Debian: apt-get install python3) and run this again.")
	}
	var in, out, stderr bytes.Buffer
	for _, e := range all {
		if err := json.Compact(&in, toJSON(e)); err != nil {
			t.Fatal(err)
		}
		in.WriteByte('\n')
	}
	command := exec.Command(python, "testdata/canonical.py")
	command.Stdin, command.Stdout, command.Stderr = &in, &out, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, &stderr)
	}
	lines := slices.Collect(strings.Lines(out.String()))
	if len(lines) != len(all) {
		t.Fatalf("%d lines of %d events", len(lines), len(all))
	}
	for i, e := range all {
		var second [2]string // the canonical form and the checksum
		if err := json.Unmarshal([]byte(lines[i]), &second); err != nil {
			t.Fatal(err)
		}
		if form := events.AppendCanonical(nil, e); string(form) != second[0] || events.Checksum(e) != second[1] {
			t.Errorf("%#v\nhas %s, %s\nand in Python %s, %s", e, form, events.Checksum(e), second[0], second[1])
		}
	}
}

// keysInOrder are in the order of their UTF-16 code units. In UTF-8, U+E000 and what follows are before U+10000.
var keysInOrder = []string{
	"", "A", "AA", "Type", "V", "a", "\u007f", "é", "é\U00010000", "é\ue000", "\ud7ff", "\U00010000", "\U00010000a",
	"\U0001f600", "\U0010ffff", "\ue000", "\ue000a", "\uee00", "\ufb33", "\uffff",
}

// withKeys returns a header with these metadata keys.
func withKeys(keys ...string) events.Event {
	metadata := map[string]string{}
	for _, key := range keys {
		metadata[key] = "x"
	}
	return events.TransactionPosted{Annotation: events.Annotation{Metadata: metadata}}
}

// oddTexts are all characters that JSON may escape, and others at the seams of UTF-8 and UTF-16.
func oddTexts() []string {
	texts := []string{"", "\u0080", "\u2028\u2029", "\ud7ff", "\ue000", "\ufeff", "\uffff", "\U00010000", "\U0010ffff", "a\U0001f600b"}
	for c := range rune(0x80) {
		texts = append(texts, string(c), "a"+string(c)+"b")
	}
	return texts
}
