package viewstest

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// ListedKeys returns the keys of all entries in lists of transactions, in order. Those of holds have the suffix "
// held".
func (s Seed) ListedKeys(t T) (entries []string) {
	t.Helper()
	for _, item := range s.ofKind(t, table.Listed.Type) {
		r := table.Read(item)
		entry := r.Text(table.AttrPK) + " " + r.Text(table.AttrSK)
		if r.OptionalFlag(table.AttrHeld) {
			entry += " held"
		}
		entries = append(entries, entry)
	}
	slices.Sort(entries)
	return entries
}

// JournalText returns the pages of the journal, in order, such as "t-1, t-2, t-2 ended": ids of transactions, and keys
// of other events.
func (s Seed) JournalText(t T) (pages []string) {
	t.Helper()
	byKey := make(map[string]string)
	for _, item := range s.ofKind(t, table.Journal.Type) {
		var entries []string
		for _, e := range table.Read(item).Maps(table.AttrEntries) {
			id := table.Read(e).Text(table.AttrEvent)
			key, _ := table.ParseKey(id)
			if transaction, ok := table.Transaction.Parse(key); ok {
				id = transaction
			} else if hold, ok := table.Outcome.Parse(key); ok {
				id = hold + " ended"
			}
			entries = append(entries, id)
		}
		byKey[table.Read(item).Text(table.AttrSK)] = strings.Join(entries, ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		pages = append(pages, byKey[key])
	}
	return pages
}

// ofKind scans a small table for the items of one type.
func (s Seed) ofKind(t T, kind string) []table.Item {
	t.Helper()
	all, err := s.Client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &s.Name})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(i table.Item) bool { return table.Read(i).Text(table.AttrType) != kind })
}
