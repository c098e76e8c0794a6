package api

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// BodyBytes is the most bytes of a request's body. The largest valid transaction has about 14 KB.
const BodyBytes = 256 << 10

// BatchBytes is the most bytes of the body of a batch.
const BatchBytes = 1 << 20

// readBody returns the body of a request, which may have at most the given number of bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if !isJSON(r.Header) {
		return nil, newProblem(codeUnsupportedMedia,
			"The header Content-Type must be application/json, in UTF-8. The body must not be compressed.")
	}
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	var body bytes.Buffer
	body.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead) // with less free space, ReadFrom would reallocate
	from := r.Body
	if r.ContentLength < 0 {
		from = http.MaxBytesReader(w, from, most)
	}
	_, err := body.ReadFrom(from)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(most)
	}
	if err != nil {
		p := newProblem(codeMalformedBody, "The body ended before it was complete.")
		p.cause = err
		return nil, p
	}
	return body.Bytes(), nil
}

// isJSON reports whether the headers declare uncompressed JSON in UTF-8.
func isJSON(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	content := h.Get("Content-Type")
	if content == jsonType {
		return true
	}
	media, params, err := mime.ParseMediaType(content)
	charset, given := params["charset"]
	isUTF8 := !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
	return err == nil && media == jsonType && isUTF8
}

// tooLarge returns the problem of a body with more bytes than most.
func tooLarge(most int64) *problem {
	return newProblem(codeBodyTooLarge, fmt.Sprintf("The body may have at most %d bytes.", most))
}
