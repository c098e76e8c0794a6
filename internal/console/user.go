package console

import (
	"net/http"

	"ledger.example/events"
)

// userCookie keeps as which user a browser looks at the ledger.
const userCookie = "ledger-user"

// as returns the console as the user sees it whom the browser chose.
func (c *Console) as(r *http.Request) *Console {
	cookie, err := r.Cookie(userCookie)
	if err != nil {
		return c
	}
	api, err := c.api.WithUser(cookie.Value)
	if err != nil {
		return c
	}
	user := *c
	user.api, user.user = api, cookie.Value
	return &user
}

// setUser lets the browser look at the ledger as the user in a form, or as the caller alone, when that is empty.
func (c *Console) setUser(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formBytes)
	user := r.PostFormValue("user")
	if !c.sent(r.PostFormValue("token")) {
		c.show(w, r, view{}, errForged)
		return
	}
	cookie := &http.Cookie{
		Name: userCookie, Value: user, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if !events.ValidID(user) {
		cookie.Value, cookie.MaxAge = "", -1
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, Path, http.StatusSeeOther)
}
