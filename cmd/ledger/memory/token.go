package memory

import "strings"

// A token is a word of an expression.
type token struct {
	kind tokenKind
	text string // as it stands there
}

type tokenKind int

const (
	tokenEnd   tokenKind = iota
	tokenName            // an attribute, a keyword or a function
	tokenAlias           // #name
	tokenValue           // :value
	tokenMark            // an operator or punctuation
)

// marks are the operators and punctuation of expressions, the longer ones first.
var marks = [...]string{"<>", "<=", ">=", "=", "<", ">", "(", ")", ",", "+", "-", ".", "[", "]"}

// tokensFew is as many as most expressions have.
const tokensFew = 8

// tokenize takes an expression apart. The error is a ValidationException.
func tokenize(kind, text string) ([]token, error) {
	tokens := make([]token, 0, tokensFew)
	for rest := strings.TrimLeft(text, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		t := token{kind: tokenMark}
		switch n := wordBytes(rest[1:]); {
		case rest[0] == '#' && n > 0:
			t.kind, t.text = tokenAlias, rest[:1+n]
		case rest[0] == ':' && n > 0:
			t.kind, t.text = tokenValue, rest[:1+n]
		case wordBytes(rest[:1]) == 1:
			t.kind, t.text = tokenName, rest[:1+n]
		default:
			for _, mark := range marks {
				if strings.HasPrefix(rest, mark) {
					t.text = mark
					break
				}
			}
		}
		if t.text == "" || t.kind == tokenName && '0' <= t.text[0] && t.text[0] <= '9' {
			return nil, validation("Invalid %s: Syntax error; token: %q, near: %q", kind, rest[:1], rest[:min(len(rest), 20)])
		}
		tokens = append(tokens, t)
		rest = rest[len(t.text):]
	}
	if len(tokens) == 0 {
		return nil, validation("Invalid %s: The expression can not be empty;", kind)
	}
	return tokens, nil
}

// wordBytes counts the letters, digits and underscores at the beginning of s.
func wordBytes(s string) int {
	for i := range len(s) {
		if c := s[i]; !(c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return i
		}
	}
	return len(s)
}
