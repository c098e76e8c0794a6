package sign_test

import (
	"bufio"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// verifier checks signatures as AWS does, written from its description of Signature Version 4 and without its SDK.
type verifier struct {
	accessKey, secret, token string
	region, service          string
	now                      time.Time
}

const stampLayout = "20060102T150405Z"

// verify recomputes the signature of a request from what was received of it.
func (v verifier) verify(r *http.Request, body []byte) error {
	parts, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("authorization %q", r.Header["Authorization"])
	}
	fields := make(map[string]string)
	for _, part := range strings.Split(parts, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	stamp := r.Header.Get("X-Amz-Date")
	at, err := time.Parse(stampLayout, stamp)
	if err != nil || at.Sub(v.now).Abs() > 5*time.Minute {
		return fmt.Errorf("signed at %q, and it is %v: %v", stamp, v.now, err)
	}
	scope := strings.Join([]string{stamp[:8], v.region, v.service, "aws4_request"}, "/")
	if want := v.accessKey + "/" + scope; fields["Credential"] != want {
		return fmt.Errorf("credential %q, want %q", fields["Credential"], want)
	}
	if got := r.Header.Get("X-Amz-Security-Token"); got != v.token {
		return fmt.Errorf("session token %q, want %q", got, v.token)
	}
	signed := strings.Split(fields["SignedHeaders"], ";")
	if err := v.checkSigned(r, signed); err != nil {
		return err
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	query, err = canonicalQuery(query)
	if err != nil {
		return err
	}
	// A gateway may count the path as it came, encoded once more, or decode it first and then encode it twice: a client must
	// satisfy both.
	decoded, err := unescape(path)
	if err != nil {
		return err
	}
	for how, uri := range map[string]string{"as it came": escape(path, "/"), "decoded": escape(escape(decoded, "/"), "/")} {
		canonical := strings.Join([]string{r.Method, uri, query, canonicalHeaders(r, signed), fields["SignedHeaders"], digest(body)}, "\n")
		text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, digest([]byte(canonical))}, "\n")
		key := []byte("AWS4" + v.secret)
		for _, step := range strings.Split(scope, "/") {
			key = mac(key, step)
		}
		if want := hex.EncodeToString(mac(key, text)); fields["Signature"] != want {
			return fmt.Errorf("the signature is %s, want %s, with the path %s, of\n%s", fields["Signature"], want, how, canonical)
		}
	}
	return nil
}

// checkSigned makes sure that the headers that must be signed are.
func (v verifier) checkSigned(r *http.Request, signed []string) error {
	if !slices.IsSorted(signed) || !slices.Contains(signed, "host") {
		return fmt.Errorf("signed headers %q", signed)
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(signed, name) {
			return fmt.Errorf("%s is not among the signed headers %q", name, signed)
		}
	}
	return nil
}

func canonicalHeaders(r *http.Request, signed []string) string {
	var b strings.Builder
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		fmt.Fprintf(&b, "%s:%s\n", name, strings.Join(strings.Fields(value), " "))
	}
	return b.String()
}

func canonicalQuery(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	type pair struct{ name, value string }
	var pairs []pair
	for _, part := range strings.Split(raw, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, err1 := unescape(name)
		value, err2 := unescape(value)
		if err := errors.Join(err1, err2); err != nil {
			return "", err
		}
		pairs = append(pairs, pair{escape(name, ""), escape(value, "")})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.value, b.value)) })
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = p.name + "=" + p.value
	}
	return strings.Join(parts, "&"), nil
}

// escape encodes every byte but the unreserved ones and those of also.
func escape(s, also string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(unreserved+also, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape decodes what is sent. A plus sign is an error: some read it as a space, and others as itself.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			return "", fmt.Errorf("%q has a plus sign", s)
		case s[i] != '%':
			b.WriteByte(s[i])
		default:
			one, err := hex.DecodeString(s[i+1 : min(i+3, len(s))])
			if err != nil || len(one) != 1 {
				return "", fmt.Errorf("%q: %v", s, err)
			}
			b.WriteByte(one[0])
			i += 2
		}
	}
	return b.String(), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// The requests and signatures are AWS's: of its Signature Version 4 test suite, and the last one of its documentation.
func TestTheVerifierAgreesWithAWS(t *testing.T) {
	suite := verifier{accessKey: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1", service: "service",
		now: time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)}
	iam := suite
	iam.service = "iam"
	const vanilla = " HTTP/1.1\r\nHost: example.amazonaws.com\r\nX-Amz-Date: 20150830T123600Z\r\n"
	for _, c := range []struct {
		name, request, signed, signature string
		verifier
	}{
		{"get-vanilla", "GET /" + vanilla, "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31", suite},
		{"get-vanilla-query-order-key-case", "GET /?Param2=value2&Param1=value1" + vanilla, "host;x-amz-date",
			"b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500", suite},
		{"post-vanilla", "POST /" + vanilla, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b", suite},
		{"post-x-www-form-urlencoded", "POST /" + vanilla + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 13\r\n" + "\nParam1=value1",
			"content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a", suite},
		{"ListUsers", "GET /?Action=ListUsers&Version=2010-05-08 HTTP/1.1\r\nHost: iam.amazonaws.com\r\nX-Amz-Date: 20150830T123600Z\r\n" +
			"Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n",
			"content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7", iam},
	} {
		head, body, _ := strings.Cut(c.request, "\r\n\n")
		authorization := fmt.Sprintf("Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/%s/aws4_request, SignedHeaders=%s, Signature=%s\r\n",
			c.service, c.signed, c.signature)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.TrimSuffix(head, "\r\n") + "\r\n" + authorization + "\r\n" + body)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		received, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.verify(r, received); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
