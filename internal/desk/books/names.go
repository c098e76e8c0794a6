package books

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"ledger.example/events"
)

const (
	idChars     = 64 // the most characters of an id
	partHash    = 8  // hexadecimal digits for a part of a name in another script
	wholeHash   = 10 // hexadecimal digits for a name that has no other id
	cutIDPrefix = idChars - 1 - wholeHash
)

// shortID returns the id for a name: the name itself if it is a valid id. Otherwise a space becomes _, a letter loses
// its accents, and other characters become @ and two hexadecimal digits for each byte. A part of an account in another
// script than the Latin one becomes what is left of it and a hash, so that the accounts below it have a common prefix.
// x is put before an id that does not begin with a letter or a digit. The end of a long id is replaced by a hash.
func shortID(name string) string {
	if events.ValidID(name) {
		return name
	}
	parts := strings.Split(name, ":")
	for i, part := range parts {
		parts[i] = plain(part)
	}
	id := strings.Join(parts, ":")
	if id == "" || !events.ValidID(id[:1]) {
		id = "x" + id
	}
	if len(id) > idChars {
		return hashedID(name, id)
	}
	return id
}

// hashedID returns another id for a name, which begins like the given one.
func hashedID(name, id string) string {
	return id[:min(len(id), cutIDPrefix)] + "." + hashOf(name, wholeHash)
}

func hashOf(text string, digits int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:digits]
}

// plain returns a part of a name in the characters of ids.
func plain(part string) string {
	var b strings.Builder
	isLost := false
	for text := norm.NFKD.String(part); text != ""; {
		r, size := utf8.DecodeRuneInString(text)
		c := text[:size]
		switch text = text[size:]; {
		case c == " ":
			b.WriteByte('_')
		case events.ValidID("x" + c):
			b.WriteString(c)
		case unicode.Is(unicode.Mn, r): // an accent
		case r > unicode.MaxASCII && r != utf8.RuneError && unicode.In(r, unicode.L, unicode.N, unicode.Mc) &&
			!unicode.Is(unicode.Latin, r):
			isLost = true
		default:
			for i := range len(c) {
				fmt.Fprintf(&b, "@%02X", c[i])
			}
		}
	}
	switch {
	case !isLost:
		return b.String()
	case strings.Trim(b.String(), "_") == "":
		return hashOf(part, partHash)
	}
	return b.String() + "." + hashOf(part, partHash)
}

// escapes matches ids that nobody types as names, because plain has made them.
var escapes = regexp.MustCompile(`@[0-9A-F]{2}`)

// names assigns unique ids to the names of the accounts, or of the commodities, of a book.
type names struct {
	chosen map[string]string // ids that the book or the caller defines, by name
	first  map[string]Position
	order  []string          // as they stand in the book
	hashed []string          // with another id than the usual one, which something else has
	ids    map[string]string // assigned ids, by name
	names  map[string]string // names, by assigned id
}

func newNames(defined, chosen map[string]string) *names {
	all := make(map[string]string)
	maps.Copy(all, defined)
	maps.Copy(all, chosen)
	return &names{chosen: all, first: make(map[string]Position), ids: make(map[string]string),
		names: make(map[string]string)}
}

// add adds a name, which has an id after assign.
func (n *names) add(name string, at Position) {
	if _, isKnown := n.first[name]; !isKnown {
		n.first[name] = at
		n.order = append(n.order, name)
	}
}

// had is what the ledger has of a kind: its accounts, or its assets.
type had struct {
	// name returns the name of the one with an id. ok is false if there is none.
	name func(ctx context.Context, id string) (name string, ok bool, err error)
	// all lists the names, by id.
	all func(ctx context.Context) iter.Seq2[[2]string, error]

	listed map[string][]string // ids, by name; nil: not read yet
}

// named returns the ids of those with a name. It reads the list once.
func (h *had) named(ctx context.Context, name string) ([]string, error) {
	if h.listed == nil {
		h.listed = make(map[string][]string)
		for of, err := range h.all(ctx) {
			if err != nil {
				return nil, err
			}
			h.listed[of[1]] = append(h.listed[of[1]], of[0])
		}
	}
	return h.listed[name], nil
}

// assign assigns the ids. Names that are ids come first. The other ones have that of what the ledger has with the full
// name, so an id stays when the rule for ids changes. wrong gets the names without an id.
func (n *names) assign(ctx context.Context, h *had, wrong func(name string, err error)) error {
	isExact := func(name string) bool { return n.chosen[name] != "" || events.ValidID(name) }
	inOrder := slices.Clone(n.order)
	slices.SortStableFunc(inOrder, func(a, b string) int {
		switch {
		case isExact(a) == isExact(b):
			return 0
		case isExact(a):
			return -1
		}
		return 1
	})
	for _, name := range inOrder {
		id, err := n.find(ctx, h, name)
		if err != nil {
			return err
		}
		switch other, isTaken := n.names[id]; {
		case id == "":
			wrong(name, fmt.Errorf("%q: several in the ledger have this name, and none the id %q: choose one by --ids",
				name, shortID(name)))
		case !events.ValidID(id): // one that the book defines
			wrong(name, fmt.Errorf("%q has the id %q, which is none: it %s. Give it another by --ids", name, id,
				events.IDRule))
		case isTaken:
			wrong(name, fmt.Errorf("%q and %q would both have the id %q: give one of them another by --ids", other,
				name, id))
		default:
			n.ids[name], n.names[id] = id, name
		}
	}
	return nil
}

// find returns the id of a name, "" if several may be meant.
func (n *names) find(ctx context.Context, h *had, name string) (string, error) {
	if id := n.chosen[name]; id != "" {
		return id, nil
	}
	id := shortID(name)
	_, isTaken := n.names[id]
	there, ok, err := h.name(ctx, id)
	switch {
	case err != nil:
		return "", err
	case isTaken: // by another name of the book
	case ok && there == nameOf(name, id):
		return id, nil
	case id == name && (!ok || there == "" || there == id || shortID(there) != id): // people name it as they like
		return id, nil
	case id == name && escapes.MatchString(name): // an export of the ledger, which cannot write the name
		return id, nil
	}
	if id != name {
		same, err := h.named(ctx, nameOf(name, id))
		switch {
		case err != nil:
			return "", err
		case len(same) > 1:
			return "", nil
		case len(same) == 1:
			return same[0], nil
		case !ok && !isTaken:
			return id, nil
		}
	}
	n.hashed = append(n.hashed, name)
	return hashedID(name, id), nil
}
