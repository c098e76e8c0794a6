package access

import (
	"encoding/base64"
	"regexp"
	"strings"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/system"
)

// known says what users may know: the accounts and groups on which they have a role, as a read of each one says.
type known struct {
	s    *system.System
	all  []string                   // paths of all accounts and groups
	seen map[string]map[string]bool // by user and path
}

func newKnown(s *system.System) *known {
	k := &known{s: s, seen: make(map[string]map[string]bool)}
	for _, list := range []string{"/v1/accounts/", "/v1/groups/"} {
		for _, item := range s.All(strings.TrimSuffix(list, "/"), 100) {
			k.all = append(k.all, list+item["id"].(string))
		}
	}
	return k
}

// sees reports whether a user may read an account or a group.
func (k *known) sees(user, path string) bool {
	if k.seen[user] == nil {
		k.seen[user] = make(map[string]bool)
		for _, path := range k.all {
			k.seen[user][path] = k.s.Send("GET", path, "", "Ledger-User", user).Status == 200
		}
	}
	return k.seen[user][path]
}

// unknownIn returns the path of an account or a group that an answer to a user tells of, although the request does not
// name it and the user has no role on it; "" if there is none. It reads all texts of the answer, its headers, and what
// is in cursors.
func (k *known) unknownIn(answer caller.Reply, request, user string) string {
	text := requestID.ReplaceAllString(string(answer.Body), "")
	for name, values := range answer.Header {
		if name != "X-Request-Id" && name != "Etag" {
			text += " " + strings.Join(values, " ")
		}
	}
	request, text = withCursors(request), withCursors(text)
	for _, path := range k.all {
		id := path[strings.LastIndex(path, "/")+1:]
		if hasWord(text, id) && !hasWord(request, id) && !k.sees(user, path) {
			return path
		}
	}
	return ""
}

var encoded = regexp.MustCompile(`[\w-]{18,}`)

// withCursors adds to a text what its cursors have.
func withCursors(text string) string {
	for _, cursor := range encoded.FindAllString(text, -1) {
		if in, err := base64.RawURLEncoding.DecodeString(cursor); err == nil && len(in) > 13 {
			text += "\n" + string(in[9:len(in)-4]) // without the list and the checksum
		}
	}
	return text
}

// hasWord reports whether a text has a word. Words are as long as ids can be.
func hasWord(text, word string) bool {
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !isOfWord(text[i-1])) && (end == len(text) || !isOfWord(text[end])) {
			return true
		}
		text = text[end:]
	}
}

func isOfWord(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
