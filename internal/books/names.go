package books

import (
	"fmt"
	"strings"

	"ledger.example/events"
)

// id is the id for a name of a book: the name itself if it may be one, else with _ for a space, @ and the hexadecimal
// bytes for other characters that no id has, and an x before it if it would not begin with a letter or a digit. The
// name itself becomes the name of the account or asset.
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

// names gives out ids: each to one name.
type names struct {
	told  map[string]string // by name, where the book tells the id
	given map[string]string // by name
	of    map[string]string // the name by id
}

func newNames(told map[string]string) *names {
	return &names{told: told, given: make(map[string]string), of: make(map[string]string)}
}

// id returns a name's id. Error: there is none.
func (n *names) id(name string) (string, error) {
	if known, ok := n.given[name]; ok {
		return known, nil
	}
	s := id(name)
	if told := n.told[name]; told != "" {
		s = told
	}
	if !events.ValidID(s) {
		return "", fmt.Errorf("%q cannot be an id, also not as %q: it %s", name, s, events.IDRule)
	}
	if other, ok := n.of[s]; ok {
		return "", fmt.Errorf("%q and %q would both have the id %q: rename one of them", other, name, s)
	}
	n.given[name], n.of[s] = s, name
	return s, nil
}
