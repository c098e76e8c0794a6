package events

import "slices"

// FieldEncoder receives the stored fields of an event, those of each map in the order of the UTF-16 code units of
// their names. Calls between BeginMap or BeginList and the matching End belong to that map or list. Elements of a list
// have no name.
//
// Encoding through it avoids Fields, which would cost more than the rest of building an item.
type FieldEncoder interface {
	Text(name, text string)
	Number(name string, n Amount)
	Flag(name string)               // true; a flag that is false is absent
	BeginMap(name string, size int) // size is the number of its fields
	BeginList(name string, size int)
	End()
}

// Write passes the stored fields of e to f. The table's adapter adds keys, name, version and checksum.
// It checks nothing: Decode refuses the stored form of an event that breaks the rules of its fields.
func Write(e Event, f FieldEncoder) { e.write(f) }

// sortedNames appends the names of m to names, which is empty, in the order of FieldEncoder.
func sortedNames[V any](names []string, m map[string]V) []string {
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	return names
}
