package viewstest

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// ListedKeys returns the keys of all entries in lists of transactions, in order. Those of holds have the suffix "
// held".
func (s Seed) ListedKeys(t T) (entries []string) {
	t.Helper()
	for _, item := range s.ofKind(t, table.Listed.Type) {
		r := ddb.Read(item)
		entry := r.Text(table.AttrPK) + " " + r.Text(table.AttrSK)
		if r.OptionalFlag(table.AttrHeld) {
			entry += " held"
		}
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	return entries
}

// JournalText returns the pages of the journal, in order, such as "posted t-1, held t-2".
func (s Seed) JournalText(t T) (pages []string) {
	t.Helper()
	byKey := make(map[string]string)
	for _, item := range s.ofKind(t, table.Journal.Type) {
		var entries []string
		for _, e := range ddb.Read(item).Maps(table.AttrEntries) {
			r := ddb.Read(e)
			entries = append(entries, r.Text(table.AttrEvent)+" "+r.Text(table.AttrTransaction))
		}
		byKey[ddb.Read(item).Text(table.AttrSK)] = strings.Join(entries, ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		pages = append(pages, byKey[key])
	}
	return pages
}

// ofKind scans a small table for the items of one type.
func (s Seed) ofKind(t T, kind string) []ddb.Item {
	t.Helper()
	all, err := s.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.Name})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(i ddb.Item) bool { return ddb.Read(i).Text(table.AttrType) != kind })
}
