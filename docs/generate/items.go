package main

import (
	"slices"
	"strings"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/projections"
)

// itemTable shows every kind of item, from its declaration.
func itemTable() markdown {
	t := markdown{head: "item|is|`Type`|PK|SK|GSI1 `SK2`|GSI2 `PK2`|written by"}
	code := func(texts string) string { // each word of them as code
		words := strings.Fields(texts)
		for i, word := range words {
			words[i] = "`" + word + "`"
		}
		return strings.Join(words, ", ")
	}
	for _, p := range table.ItemTypes() {
		i, is := p.ItemType, string(p.Class)
		if projections.IsProjected(p.Prefix()) {
			is += ", projected"
		}
		t.add(i.What, is, code(i.Type), code(i.PK), code(i.SK), code(i.SK2), code(i.PK2), i.By)
	}
	return t
}

// rebuiltItems are the beginnings of the keys of all projections that a rebuild of their account writes again. Entries
// of holds have a row of their own.
func rebuiltItems() string {
	var keys []string
	for _, p := range table.ItemTypes() {
		key, isHold := "`"+p.Prefix()+"`", p == table.Hold.Pattern || p == table.OpenHold.Pattern
		if p.Class == "projection" && p.By == "projector" && !isHold && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys, ", ")
}

// numberedCodes are the codes of findings about projections of numbered events: of items that are only behind, or of
// the others.
func numberedCodes(behind bool) string {
	var codes []string
	for _, c := range audit.Codes() {
		if c.IsNumbered && c.IsBehind == behind {
			codes = append(codes, "`"+string(c.Code)+"`")
		}
	}
	return strings.Join(codes, ", ")
}

// prefixes are the conditions on the SK of a record that some kinds of items meet, each once.
func prefixes(suits func(sk string) bool) (all []string) {
	for _, p := range table.ItemTypes() {
		is := `{"prefix":"` + p.Prefix() + `"}`
		if suits(p.Prefix()) && !slices.Contains(all, is) {
			all = append(all, is)
		}
	}
	return all
}

// filtered is the end of a filter: a condition on the SK of a record.
func filtered(prefixes ...string) string {
	return `"dynamodb":{"Keys":{"` + table.AttrSK + `":{"S":[` + strings.Join(prefixes, ",") + `]}}}}`
}

// projectorFilters are the filters of the projector's event source. Postings, the most of all, are the first.
func projectorFilters() []string {
	projected, watched := prefixes(projections.IsProjected), prefixes(projections.IsWatched)
	others := prefixes(func(sk string) bool { return table.IsEvent(sk) && !projections.IsProjected(sk) })
	return []string{
		`{` + filtered(projected[0]),
		`{` + filtered(slices.Concat(projected[1:], watched)...),
		`{"dynamodb":{"NewImage":{"` + table.AttrPK + `":{"S":[{"exists":false}]}}}}`,
		`{"eventName":["MODIFY"],` + filtered(others...),
	}
}

// listerFilters is the filter of the lister's event source.
func listerFilters() []string {
	return []string{`{"eventName":["INSERT"],` + filtered(prefixes(table.IsJournaled)...)}
}

// filters shows filters as lines of template.yaml.
func filters(patterns []string) string {
	var lines strings.Builder
	for _, pattern := range patterns {
		lines.WriteString(strings.Repeat(" ", 10) + "- Pattern: '" + pattern + "'\n")
	}
	return lines.String()
}

// writtenKeys shows the PKs of the items that a function writes, as lines of its policy in template.yaml.
func writtenKeys(function string) string {
	var lines []string
	for _, p := range table.ItemTypes() {
		if !slices.Contains(strings.Split(p.By, ", "), function) {
			continue
		}
		pk, _, hasParts := strings.Cut(p.ItemType.PK, "{")
		if hasParts {
			pk += "*"
		}
		lines = append(lines, strings.Repeat(" ", 18)+`- "`+pk+"\"\n")
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}
