package console

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"ledger.example/events"
)

// errUser is of a user that can be none. Nothing is shown then: the caller may see more than the user that was meant.
var errUser = errors.New("user: must be 1 to 64 letters, digits and . _ : @ -, and begin with a letter or a digit")

// userCookie names what keeps as which user a browser looks at the ledger. Consoles on other ports have their own.
func userCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "ledger-user-" + port
}

// as returns the console as the user sees it whom the browser chose, unless the console is a user's. Error: errUser.
func (c *Console) as(r *http.Request) (*Console, error) {
	cookie, err := r.Cookie(userCookie(r))
	if err != nil || c.at.User != "" {
		return c, nil
	}
	user := *c
	user.user = cookie.Value
	if user.api, err = c.api.WithUser(cookie.Value); err != nil {
		return &user, errUser
	}
	return &user, nil
}

// setUser lets the browser look at the ledger as the user in a form, or as the caller alone, when that is empty.
func (c *Console) setUser(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formBytes)
	user := strings.TrimSpace(r.PostFormValue("user"))
	switch {
	case !c.sent(r.PostFormValue("token")):
		c.show(w, r, view{}, errForged)
		return
	case user != "" && !events.ValidID(user):
		c.show(w, r, view{}, errUser)
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
