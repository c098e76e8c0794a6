package console

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"ledger.example/events"
)

// errUser reports an invalid user id. The page then shows no data, because the caller may see more than the intended
// user.
var errUser = errors.New("user: must be 1 to 64 letters, digits and . _ : @ -, and begin with a letter or a digit")

// userCookie returns the name of the cookie with the user that a browser views the ledger as. It has the port, because
// cookies are shared between the ports of a host.
func userCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "ledger-user-" + port
}

// as returns the console for the user in the cookie. A console that acts as a fixed user ignores the cookie. Error:
// errUser.
func (c *Console) as(r *http.Request) (*Console, error) {
	cookie, err := r.Cookie(userCookie(r))
	if err != nil || c.address.User != "" {
		return c, nil
	}
	user := *c
	user.user = cookie.Value
	if user.api, err = c.api.WithUser(cookie.Value); err != nil {
		return &user, errUser
	}
	return &user, nil
}

// setUser stores the user of a form in the cookie, and deletes the cookie if the user is empty.
func (c *Console) setUser(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formBytes)
	user := strings.TrimSpace(r.PostFormValue("user"))
	switch {
	case !c.validToken(r.PostFormValue("token")):
		c.render(w, r, view{}, errNotOurForm)
		return
	case user != "" && !events.ValidID(user):
		c.render(w, r, view{}, errUser)
		return
	}
	cookie := &http.Cookie{
		Name: userCookie(r), Value: user, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if user == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, Path, http.StatusSeeOther)
}
