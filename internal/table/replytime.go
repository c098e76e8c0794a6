package table

import (
	"errors"
	"net/http"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// StoreTime returns the store's time, the Date of a reply, or the zero time.
func StoreTime(m middleware.Metadata) time.Time {
	t, _ := awsmiddleware.GetServerTime(m)
	return t.UTC()
}

// ErrorTime returns the store's time from the Date of an error reply, or the zero time if there was no reply.
func ErrorTime(err error) time.Time {
	refused, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || refused.Response == nil {
		return time.Time{}
	}
	t, _ := http.ParseTime(refused.Response.Header.Get("Date"))
	return t.UTC()
}
