package events_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// The figures are those of the whole event, refused whenever it is.
func TestDecodeFigures(t *testing.T) {
	// figures decodes the figures of a posting with these fields.
	figures := func(name string, version int, checksum string, all events.Fields) (events.Figures, error) {
		text := func(name string, t events.FieldType) string {
			for _, f := range all {
				if f.Name == name && f.Type == t {
					return f.Text
				}
			}
			return ""
		}
		return events.DecodeFigures(events.StoredPosting{
			Name: name, Version: version, Checksum: checksum, Account: text("Account", events.TextField),
			Asset: text("Asset", events.TextField), ID: text("ID", events.TextField),
		}, text)
	}
	for _, file := range []string{"PostingRecorded.v1.json", "PostingRecorded.v1.recorded.json"} {
		all, checksum := new(events.Encoder).Encode(golden(t, file))
		if n := testing.AllocsPerRun(100, func() {
			if _, err := figures("PostingRecorded", events.Form, checksum, all); err != nil {
				t.Error(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", file, n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		one, another := eventstest.PostingRecorded().Draw(t, "stored"), eventstest.PostingRecorded().Draw(t, "another")
		all, checksum := new(events.Encoder).Encode(one)
		others, _ := new(events.Encoder).Encode(another)
		const name = "PostingRecorded"
		renamed, version := name, events.Form
		digits := rapid.OneOf(rapid.StringMatching(`[+-]?[0-9]{0,40}(e[0-9])?`), rapid.SampledFrom([]string{"-0", "١"}))
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			field := rapid.SampledFrom(events.StoredFields()[name]).Draw(t, "field")
			other := func(f events.Field) bool { return f.Name != field }
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				others := slices.DeleteFunc(slices.Clone(others), other)
				all = append(slices.DeleteFunc(all, func(f events.Field) bool { return f.Name == field }), others...)
			case 1:
				for i := range all {
					if all[i].Type == events.NumberField && all[i].Name == field {
						all[i].Text = digits.Draw(t, "digits")
					}
				}
			case 2:
				version = rapid.IntRange(-1, 3).Draw(t, "version")
			case 3:
				renamed = rapid.SampledFrom([]string{"", "Nonsense", "MemberGranted"}).Draw(t, "name")
			}
		}
		if rapid.Bool().Draw(t, "recomputed") {
			checksum = events.ChecksumOf(renamed, all)
		}
		got, err := figures(renamed, version, checksum, all)
		whole, wholeErr := events.Decode(renamed, version, checksum, all)
		posting, _ := whole.(events.PostingRecorded)
		for _, kind := range []error{events.ErrMalformedEvent, events.ErrUnknownEvent, events.ErrNewerEvent} {
			if renamed == name && errors.Is(err, kind) != errors.Is(wholeErr, kind) {
				t.Fatalf("%+v: %v; the whole is %v, %v", all, err, whole, wholeErr)
			}
		}
		if (err == nil) != (wholeErr == nil && renamed == name) || err == nil && got != posting.Figures() ||
			err != nil && got != (events.Figures{}) {
			t.Fatalf("%+v: %v, %v; the whole is %v, %v", all, got, err, whole, wholeErr)
		}
	})
}
