package books

import (
	"fmt"
	"strings"

	"ledger.example/events"
)

// id returns the id for a name: the name itself if it is a valid id. Otherwise a space becomes _, other invalid bytes
// become @ and two hexadecimal digits, and x is prepended if the result does not begin with a letter or a digit.
func id(name string) string {
	if events.ValidID(name) {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == ' ':
			b.WriteByte('_')
		case events.ValidID("x" + string(rune(c))):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "@%02X", c)
		}
	}
	if s := b.String(); events.ValidID(s[:min(1, len(s))]) {
		return s
	}
	return "x" + b.String()
}

// names assigns unique ids to names.
type names struct {
	defined map[string]string // ids that the book defines, by name
	ids     map[string]string // assigned ids, by name
	names   map[string]string // names, by assigned id
}

func newNames(defined map[string]string) *names {
	return &names{defined: defined, ids: make(map[string]string), names: make(map[string]string)}
}

// id returns the id of a name, which it assigns at the first call. It is an error if the id is invalid or not unique.
func (n *names) id(name string) (string, error) {
	if assigned, ok := n.ids[name]; ok {
		return assigned, nil
	}
	s := id(name)
	if defined := n.defined[name]; defined != "" {
		s = defined
	}
	if !events.ValidID(s) {
		return "", fmt.Errorf("%q has no valid id: %q %s", name, s, events.IDRule)
	}
	if other, ok := n.names[s]; ok {
		return "", fmt.Errorf("%q and %q would both have the id %q: rename one of them", other, name, s)
	}
	n.ids[name], n.names[s] = s, name
	return s, nil
}
