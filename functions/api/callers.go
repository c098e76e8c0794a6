package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/access"
)

// Callers says how a gateway's callers are told.
type Callers struct {
	// Local takes a caller for whom no authorizer vouches for LocalCaller. It is for sam local, which ignores
	// authorizers. Without it, a gateway without an authorizer opens nothing.
	Local bool
	// UserClaim is the claim of a token that has the user's id; "": sub.
	UserClaim string
	// AdminScope is the scope that makes the bearer of a token an administrator; "": nothing does.
	AdminScope string
}

// LocalCaller is every caller of a server on this machine.
func LocalCaller(*http.Request) access.Caller { return access.Caller{Service: "local", Admin: true} }

// GatewayCaller returns who the gateway's authorizer says is calling; the zero Caller is nobody.
//
// An IAM identity is a service, "<userArn>#<userId>": after it is deleted, another may get the same ARN but never the
// same id. If the gateway sends only one of them, that one is the identity. The bearer of a token is a user, or an
// administrator, who is recorded as "<iss>#<sub>": subjects are unique for an issuer.
func GatewayCaller(c Callers) func(*http.Request) access.Caller {
	return func(r *http.Request) access.Caller {
		caller := c.caller(gatewayInfoOf(r).authorizer)
		if caller == (access.Caller{}) && c.Local {
			return LocalCaller(r)
		}
		return caller
	}
}

func (c Callers) caller(a *lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription) access.Caller {
	service := func(name string) access.Caller { return access.Caller{Service: name, Admin: true} }
	switch {
	case a == nil:
	case a.IAM != nil && (a.IAM.UserARN != "" || a.IAM.UserID != ""):
		return service(joined(a.IAM.UserARN, a.IAM.UserID))
	case a.IAM != nil && a.IAM.CallerID != "":
		return service(a.IAM.CallerID)
	case a.JWT != nil:
		return c.bearer(a.JWT.Claims)
	}
	return access.Caller{}
}

// bearer returns who sends a token with claims. A token of nobody's is that of the zero Caller: an issuer alone names
// nobody.
func (c Callers) bearer(claims map[string]string) access.Caller {
	claim := c.UserClaim
	if claim == "" {
		claim = "sub"
	}
	issuer := claims["iss"]
	switch {
	case c.AdminScope != "" && hasScope(claims, c.AdminScope):
		if subject := claims["sub"]; subject != "" {
			return access.Caller{Service: joined(issuer, subject), Admin: true}
		}
	case claims[claim] != "":
		if issuer == "" {
			issuer = "a token"
		}
		return access.Caller{Service: issuer, User: userID(claims[claim])}
	}
	return access.Caller{}
}

// hasScope reports whether a token has a scope. Its scopes are one text with spaces between them (RFC 8693, 4.2), in
// scope, or a list in scp, which the gateway writes as "[one two]".
func hasScope(claims map[string]string, scope string) bool {
	list := strings.TrimSuffix(strings.TrimPrefix(claims["scp"], "["), "]")
	return slices.Contains(strings.Fields(claims["scope"]), scope) || slices.Contains(strings.Fields(list), scope)
}

// hashedUser begins the ids of users whose claim is no id.
const hashedUser = "jwt:"

// userID returns the user's id for the value of a claim: itself if it can be one, else its hash. A value that looks
// like a hash is hashed, too: nobody can choose to be somebody else.
func userID(value string) string {
	if events.ValidID(value) && !strings.HasPrefix(value, hashedUser) {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return hashedUser + base64.RawURLEncoding.EncodeToString(sum[:])
}

// joined returns a#b, or the one that is not empty.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "#" + b
}

// userHeader is the header by which a service acts for one user alone.
const userHeader = "Ledger-User"

// identify finds out who sends r. It refuses a request without a caller, and one whose name no event can record. A
// header that names no user is a fault of the request: then the caller is nobody.
func (a *api) identify(r *request) error {
	c := a.config.Caller(r.http)
	if values, given := r.http.Header[userHeader]; given && c != (access.Caller{}) {
		if !c.Admin {
			return forbidden(access.Administrator,
				"Only services and administrators may act for a user; remove the header "+userHeader+".")
		}
		switch {
		case len(values) != 1:
			r.fail(userHeader, ruleOnce)
		case !events.ValidID(values[0]):
			r.fail(userHeader, ruleID)
		default:
			c.User = values[0]
		}
		c.Admin = false
	}
	actor := c.Actor()
	_, looksLikeUser := access.UserOf(actor)
	switch {
	case actor == "":
		return newProblem(codeUnauthenticated, "The request is not authenticated.")
	case !utf8.ValidString(actor), strings.ContainsRune(actor, 0), utf8.RuneCountInString(actor) > events.ActorChars:
		return newProblem(codeUnauthenticated, fmt.Sprintf(
			"The caller's identity cannot be recorded: it may have at most %d characters of UTF-8, and no NUL.",
			events.ActorChars))
	case looksLikeUser != (c.User != ""):
		return newProblem(codeUnauthenticated, "The caller's identity has the form of a user's identity.")
	}
	r.caller, r.actor = c, actor
	return nil
}

// getMe tells the caller who they are.
func (a *api) getMe(r *request) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	as := "user"
	if r.caller.Admin {
		as = access.Administrator.String()
	}
	return ok(client.Me{As: as, User: orNull(r.caller.User), Service: r.caller.Service, Actor: r.actor})
}
