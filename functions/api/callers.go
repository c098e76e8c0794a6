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
	"ledger.example/functions/access"
)

// Callers configures how the callers of a gateway are identified.
type Callers struct {
	// Local makes LocalCaller the caller of requests that are not authenticated. It is for sam local, which ignores
	// authorizers.
	Local bool
	// UserClaim is the claim of a token that has the user's id, "" for sub.
	UserClaim string
	// AdminScope is the scope that makes the bearer of a token an administrator, "" if no scope does.
	AdminScope string
}

// LocalCaller returns the caller of all requests to a server on this machine, an administrator.
func LocalCaller(*http.Request) access.Caller { return access.Caller{Service: "local", Admin: true} }

// GatewayCaller returns a function that returns the caller according to the gateway's authorizer. It returns the zero
// Caller if the request is not authenticated.
//
// An IAM identity is a service with the name "<userArn>#<userId>". After an identity is deleted, a new one may get the
// same ARN, but never the same id. If the gateway sends only one of them, it is the name. The bearer of a token is a
// user, or an administrator with the name "<iss>#<sub>". A subject is unique only for its issuer.
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

// bearer returns the caller with a token that has the claims. It is the zero Caller if an administrator's token has no
// subject, or another token no user: an issuer alone identifies nobody.
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

// hasScope reports whether a token has a scope, in the claim scope (RFC 8693, 4.2) or scp. A claim is a text with
// spaces between the scopes, or a list, which the gateway formats as "[one two]".
func hasScope(claims map[string]string, scope string) bool {
	return slices.ContainsFunc([]string{"scope", "scp"}, func(claim string) bool {
		words := strings.TrimSuffix(strings.TrimPrefix(claims[claim], "["), "]")
		return slices.Contains(strings.Fields(words), scope)
	})
}

// hashedUser is the prefix of the ids of users whose claim is not a valid id.
const hashedUser = "jwt:"

// userID returns the user's id for the value of a claim: the value if it is a valid id, otherwise its hash. A value
// with the prefix of a hash is hashed, too, so that it cannot be the id of another user.
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

// userHeader is the header with which a service or an administrator acts for a user.
const userHeader = "Ledger-User"

// identify sets the caller of r. It refuses a request that is not authenticated, and a caller whose name cannot be
// stored in an event. An invalid userHeader is recorded as a fault, and the caller then has no rights.
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

// getMe answers with the identity of the caller.
func (a *api) getMe(r *request, _ *struct{}) (reply, error) {
	as := "user"
	if r.caller.Admin {
		as = access.Administrator.String()
	}
	return ok(client.Me{As: as, User: orNull(r.caller.User), Service: r.caller.Service, Actor: r.actor})
}
